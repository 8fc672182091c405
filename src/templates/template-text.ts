/**
 * Formats a template: YAML with the short tags of CloudFormation, or JSON with the long names of its
 * functions.
 */
import { Document, Pair, Scalar, YAMLMap, YAMLSeq } from 'yaml'

export type TemplateValue =
  | string
  | number
  | boolean
  | TemplateFunction
  | readonly TemplateValue[]
  | TemplateRecord

export interface TemplateRecord {
  readonly [key: string]: TemplateValue | undefined
}

/** A call of a CloudFormation function. */
export class TemplateFunction {
  readonly name: 'Ref' | 'GetAtt' | 'Sub' | 'Join'
  readonly argument: TemplateValue

  constructor(name: TemplateFunction['name'], argument: TemplateValue) {
    this.name = name
    this.argument = argument
  }
}

export function ref(logicalId: string): TemplateFunction {
  return new TemplateFunction('Ref', logicalId)
}

export function getAtt(logicalId: string, attribute: string): TemplateFunction {
  return new TemplateFunction('GetAtt', `${logicalId}.${attribute}`)
}

export function sub(pattern: string): TemplateFunction {
  return new TemplateFunction('Sub', pattern)
}

/** @param comment comment lines at the top of the file */
export function yamlText(template: TemplateRecord, comment: readonly string[]): string {
  // Other tools read YAML 1.1, where a date or 'no' must be quoted to be a string.
  const document = new Document(undefined, { compat: 'yaml-1.1' })
  document.contents = yamlNode(template)
  if (comment.length > 0) {
    document.commentBefore = comment.map((line) => ` ${line.replaceAll(/\s+/g, ' ')}`).join('\n')
  }
  return document.toString({ lineWidth: 0, singleQuote: true })
}

export function jsonText(template: TemplateRecord): string {
  return `${JSON.stringify(longForm(template), null, 2)}\n`
}

function yamlNode(value: TemplateValue): Scalar | YAMLMap | YAMLSeq {
  if (value instanceof TemplateFunction) {
    const node = yamlNode(value.argument)
    node.tag = `!${value.name}`
    return node
  }
  if (isList(value)) {
    const list = new YAMLSeq()
    list.items = value.map(yamlNode)
    return list
  }
  if (typeof value !== 'object') return new Scalar(value)
  const map = new YAMLMap()
  map.items = Object.entries(value).flatMap(([key, inner]) =>
    inner === undefined ? [] : [new Pair(new Scalar(key), yamlNode(inner))],
  )
  return map
}

function longForm(value: TemplateValue): unknown {
  if (value instanceof TemplateFunction) {
    const argument = longForm(value.argument)
    if (value.name === 'Ref') return { Ref: argument }
    const isAttribute = value.name === 'GetAtt' && typeof argument === 'string'
    return { [`Fn::${value.name}`]: isAttribute ? argument.split('.') : argument }
  }
  if (isList(value)) return value.map(longForm)
  if (typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      inner === undefined ? [] : [[key, longForm(inner)]],
    ),
  )
}

function isList(value: TemplateValue): value is readonly TemplateValue[] {
  return Array.isArray(value)
}
