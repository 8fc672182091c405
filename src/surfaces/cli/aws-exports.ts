/** The lines that point the AWS clients of a shell to this server. */
export interface AwsExports {
  readonly url: string
  readonly region: string
  /** When requests have to be signed. Its secret is not shown: output is kept, and read by others. */
  readonly accessKeyId?: string
}

export function awsExports({ url, region, accessKeyId }: AwsExports): string {
  const secret = accessKeyId === undefined ? 'test' : '(the secret of this key)'
  // boto3, and the aws CLI as some distributions build it, know the region by its older name alone.
  return `  export AWS_ENDPOINT_URL_SQS=${url}
  export AWS_REGION=${region}
  export AWS_DEFAULT_REGION=${region}
  export AWS_ACCESS_KEY_ID=${accessKeyId ?? 'test'}
  export AWS_SECRET_ACCESS_KEY=${secret}`
}
