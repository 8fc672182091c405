import assert from 'node:assert/strict'
import { type AppDeclaration, defineApp } from '../../src/contracts/define-app.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'

/** The violations of an app, as `field: got this, expected that`. Accepts apps that do not type-check. */
export function complaints(name: unknown, declaration: unknown): readonly string[] {
  try {
    defineApp(name as string, declaration as AppDeclaration)
  } catch (error) {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, 'invalid_contract')
    return error.message.split('\n')
  }
  return []
}
