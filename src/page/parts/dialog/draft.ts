/**
 * Duty: keep what a reader has written and not sent: whoever looks at something else meanwhile finds it again.
 * DRAFT-1 A draft lasts until it is sent or given up, or the page is closed.
 */
import { useState } from 'react'

const drafts = new Map<string, unknown>()

/** `of`: what the draft is for. `begin`: what stands there before anything is written. */
export function draftOf<Value>(of: string, begin: Value): Value {
  return drafts.has(of) ? (drafts.get(of) as Value) : begin
}

export function dropDraft(of: string): void {
  drafts.delete(of)
}

export function useDraft<Value>(of: string, begin: Value): [value: Value, write: (value: Value) => void] {
  const [value, setValue] = useState<Value>(() => draftOf(of, begin))
  const write = (next: Value) => {
    drafts.set(of, next)
    setValue(next)
  }
  return [value, write]
}
