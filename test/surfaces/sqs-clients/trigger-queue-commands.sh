aws sqs create-queue --queue-name ${ProjectPrefix}-trigger-delay-dlq-${EnvironmentName} --attributes '{"MessageRetentionPeriod":"1209600","SqsManagedSseEnabled":"true"}'

dlq_arn=$(aws sqs get-queue-attributes --queue-url .../${ProjectPrefix}-trigger-delay-dlq-${EnvironmentName} --attribute-names QueueArn --query 'Attributes.QueueArn' --output text)

aws sqs create-queue --queue-name ${ProjectPrefix}-trigger-delay-queue-${EnvironmentName} --attributes '{"DelaySeconds":"0","VisibilityTimeout":"905","MessageRetentionPeriod":"345600","RedrivePolicy":"{\"deadLetterTargetArn\":\"'$dlq_arn'\",\"maxReceiveCount\":\"3\"}","SqsManagedSseEnabled":"true"}'
