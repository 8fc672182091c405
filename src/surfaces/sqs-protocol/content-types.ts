/** Whether a Content-Type says that a body holds parameters, as in Query. */
export function isForm(contentType: string): boolean {
  return contentType.toLowerCase().startsWith('application/x-www-form-urlencoded')
}
