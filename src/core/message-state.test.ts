import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { messageTransitions } from './message-state.ts'

describe('the states of a message', () => {
  test('can all be reached from new, and all lead to gone', () => {
    const reach = (start: string, step: (state: string) => readonly string[]): Set<string> => {
      const reached = new Set([start])
      for (const state of reached) for (const next of step(state)) reached.add(next)
      return reached
    }
    const states = ['new', 'ready', 'leased', 'delayed', 'gone']
    const forwards = reach('new', (state) =>
      messageTransitions.filter(({ from }) => from === state).map(({ to }) => to),
    )
    const backwards = reach('gone', (state) =>
      messageTransitions.filter(({ to }) => to === state).map(({ from }) => from),
    )
    assert.deepEqual([...forwards].sort(), [...states].sort())
    assert.deepEqual([...backwards].sort(), [...states].sort())
  })

  test('lead each event of a state to one place', () => {
    const keys = messageTransitions.map(({ from, event }) => `${from}: ${event}`)
    assert.equal(new Set(keys).size, keys.length)
  })
})
