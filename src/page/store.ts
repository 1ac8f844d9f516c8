/** Duty: hold a value outside of the components, several of which show it. */
import { useSyncExternalStore } from 'react'

export interface Store<Value> {
  readonly get: () => Value
  readonly set: (value: Value) => void
  readonly subscribe: (listener: () => void) => () => void
}

export function newStore<Value>(value: Value): Store<Value> {
  const listeners = new Set<() => void>()
  let now = value
  return {
    get: () => now,
    set(next) {
      now = next
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export function useStore<Value>({ subscribe, get }: Store<Value>): Value {
  return useSyncExternalStore(subscribe, get)
}
