/** Taken when the tests are loaded: test runners replace the global functions while they fake timers. */
export const nextTurn: typeof setImmediate = setImmediate
export const realTimeout: typeof setTimeout = setTimeout
export const cancelTimeout: typeof clearTimeout = clearTimeout
