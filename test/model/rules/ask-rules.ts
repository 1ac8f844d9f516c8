/** answer.lua, and what fire.lua does with asks that expire. */
import type { Answer, AnswerCall, FireCall } from '../calls.ts'
import type { Store } from '../records.ts'
import { writeAdmitted } from './gate-rules.ts'
import { type Rules, readCancellation, writeAskEnd, writeMail, writeWakeups } from './shared-rules.ts'

export function answer(store: Store, call: AnswerCall, rules: Rules): Answer {
  const ask = store.asks[call.ask]
  if (ask === undefined) return { kind: 'not_found' }
  const isAgain = ask.state === 'answered' && ask.key === call.key && rules.without !== 'an answer that is sent again'
  if (isAgain)
    return ask.value === call.value ? { kind: 'again', position: 0, wakeups: ask.wakeups } : { kind: 'other' }
  const isOnce = rules.without !== 'an ask is answered once'
  if (ask.state === 'answered' && isOnce) return { kind: 'answered', by: ask.value }
  if (ask.state === 'expired') return { kind: 'expired' }
  const worker = store.workers[ask.worker]
  if (worker === undefined) return { kind: 'not_found' }
  const isCancelled = rules.without !== 'asks of a cancelled run' && readCancellation(store, ask.worker, rules) !== null
  const hasEnded = isOnce ? ask.state !== '' : ask.state === 'withdrawn'
  const isOver = hasEnded || worker.status === 'terminal' || !worker.open || worker.run !== ask.run || isCancelled
  if (isOver) return { kind: 'withdrawn' }
  writeAskEnd(store, call.ask, 'answered', rules)
  Object.assign(ask, { key: call.key, value: call.value })
  const isWoken = writeMail(store, ask.worker, 'signals', `answered:${call.ask}:${call.value}`, rules)
  ask.wakeups = isWoken ? writeWakeups(store, call.seed, rules) : []
  return { kind: 'ok', position: 0, wakeups: ask.wakeups }
}

/** Time passes: all timers are due, and the gate is looked at. */
export function fire(store: Store, call: FireCall, rules: Rules): Answer {
  const due = store.timers
  let isWoken = false
  for (const id of due) {
    const ask = store.asks[id]
    const worker = ask && store.workers[ask.worker]
    if (ask?.state === '' && worker !== undefined && worker.status !== 'terminal') {
      writeAskEnd(store, id, 'expired', rules)
      isWoken = writeMail(store, ask.worker, 'signals', `expired:${id}`, rules) || isWoken
    }
  }
  store.timers = store.timers.filter((id) => !due.includes(id))
  const began = store.gate.isListed ? writeAdmitted(store) : 0
  const wakeups = isWoken || began > 0 ? writeWakeups(store, call.seed, rules) : []
  return { kind: 'fired', fired: due.length + began, wakeups }
}
