/** Whether a Content-Type is a form, as in the Query protocol. */
export function isForm(contentType: string): boolean {
  return contentType.toLowerCase().startsWith('application/x-www-form-urlencoded')
}
