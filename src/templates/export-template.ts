/**
 * Exports an app as a template for AWS: encrypted queues, dead-letter queues, alarms, least-privilege
 * policies and outputs. Reading the template again gives the same queues, for every stage.
 */
import type { App } from '../contracts/define-app.ts'
import { exportAlarms } from './export-alarms.ts'
import { type ExportFormat, type ExportPlan, planExport } from './export-plan.ts'
import { exportOutputs, exportPolicies, exportQueue } from './export-queues.ts'
import { jsonText, type TemplateRecord, yamlText } from './template-text.ts'

export interface ExportTemplateOptions {
  readonly app: App
  /** The default stage of the template. */
  readonly stage: string
  readonly format: ExportFormat
  /** Default: YAML. */
  readonly syntax?: 'yaml' | 'json'
}

export interface ExportedTemplate {
  readonly text: string
  /** Settings of the app that a template for SQS cannot express. */
  readonly warnings: readonly string[]
}

export type { ExportFormat }

export function exportTemplate({
  app,
  stage,
  format,
  syntax = 'yaml',
}: ExportTemplateOptions): ExportedTemplate {
  const plan = planExport(app, stage, format)
  const resources = mergeAll([
    ...plan.queues.map((queue) => ({ [queue.logicalId]: exportQueue(plan, queue) })),
    exportAlarms(plan),
    ...plan.queues.map((queue) => exportPolicies(plan, queue)),
  ])
  const outputs = mergeAll(plan.queues.map((queue) => exportOutputs(plan, queue)))
  warnOfAppSettings(plan)
  const template = documentOf(plan, resources, outputs)
  const text = syntax === 'json' ? jsonText(template) : yamlText(template, headOf(plan))
  return { text, warnings: plan.warnings }
}

function documentOf(
  { app, stage, format }: ExportPlan,
  resources: TemplateRecord,
  outputs: TemplateRecord,
): TemplateRecord {
  const hasOutputs = Object.keys(outputs).length > 0
  const body = { Resources: resources, Outputs: hasOutputs ? outputs : undefined }
  if (format === 'serverless') {
    return {
      service: app.name,
      provider: { name: 'aws', stage: `\${opt:stage, '${stage}'}` },
      resources: body,
    }
  }
  return {
    AWSTemplateFormatVersion: '2010-09-09',
    Transform: format === 'sam' ? 'AWS::Serverless-2016-10-31' : undefined,
    Description: `The queues of ${app.name}.`,
    Parameters: { Stage: { Type: 'String', Default: stage } },
    ...body,
  }
}

function headOf({ app, warnings }: ExportPlan): readonly string[] {
  const origin = `Generated from the app '${app.name}' by millrace. Change the app, not this file.`
  return [origin, ...warnings.map((warning) => `Note: ${warning}`)]
}

function warnOfAppSettings({ app, warnings }: ExportPlan): void {
  const own = [
    [app.tiers, 'tiers'],
    [app.budgets, 'budgets'],
    [app.flows, 'flows'],
    [app.chains, 'chains'],
    [app.collectors, 'collectors'],
    [app.schedules, 'schedules'],
  ] as const
  for (const [value, what] of own) {
    if (value !== undefined) warnings.push(`SQS does not support the ${what} of the app.`)
  }
}

function mergeAll(records: readonly TemplateRecord[]): TemplateRecord {
  return Object.assign({}, ...records)
}
