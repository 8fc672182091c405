/** Metrics in a contract test: a minute that passes, and what was written down. */
import assert from 'node:assert/strict'
import type { QueueMinute } from '../../backends/metric-store.ts'
import { minute, type Scene } from './scene.ts'

export function metricsOf({ backend }: Scene): NonNullable<Scene['backend']['metrics']> {
  assert.ok(backend.metrics !== null)
  return backend.metrics
}

export async function nextMinute(scene: Scene): Promise<void> {
  await scene.advance(minute)
  while ((await metricsOf(scene).sample()).more);
}

const always = { from: 0, to: Date.UTC(2200, 0) }

export function minutesOf(scene: Scene, queue: string): Promise<readonly QueueMinute[]> {
  return metricsOf(scene).minutes({ queue, ...always })
}

export function valuesOf(
  scene: Scene,
  name: string,
): ReturnType<ReturnType<typeof metricsOf>['values']> {
  return metricsOf(scene).values({ name, ...always })
}
