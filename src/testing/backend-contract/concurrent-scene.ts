/** Several writers at once: three connections of one store, as three processes would have them. */
import type { Backend } from '../../backends/backend.ts'
import type { Scene } from './scene.ts'

/** How often a test tries what rarely goes wrong. */
export const rounds = 12

/** Calls on three connections at the same moment, so often on each; the index counts all calls. */
export async function onEach<T>(
  scene: Scene,
  times: number,
  call: (backend: Backend, index: number) => Promise<T>,
): Promise<readonly T[]> {
  const backends = [scene.backend, ...(await others(scene))]
  const calls = Array.from({ length: times }, () => backends).flat()
  return Promise.all(calls.map((backend, index) => call(backend, index)))
}

/** Two more connections to the store of the scene. */
export async function others(scene: Scene): Promise<readonly Backend[]> {
  return [await scene.another(0), await scene.another(1)]
}
