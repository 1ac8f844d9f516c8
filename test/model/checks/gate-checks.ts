/** I18: what must be true at the gate of the kind, by what records say and by what nodes believe. */
import { gateMost } from '../rules/gate-rules.ts'
import type { Slot, World } from '../world.ts'

export function gateRules({ store, slots }: World): string[] {
  const { gate, workers } = store
  const lines: string[] = []
  if (gate.in.length > gateMost) lines.push(`I18 runs of ${gate.in.join(' and ')} are in progress at once`)
  for (const [id, { gates, status, wait }] of Object.entries(workers)) {
    const places = gate.in.filter((other) => other === id).length
    if (places !== (gates === 'in' ? 1 : 0)) lines.push(`I18 ${id} is "${gates}" and has ${places} places`)
    const waits = gate.waiting.filter((other) => other === id).length
    if (waits !== (gates === 'runs' ? 1 : 0)) lines.push(`I18 ${id} is "${gates}" and waits ${waits} times`)
    if ((wait === 'gate' && status === 'parked') !== (gates === 'runs'))
      lines.push(`I18 ${id} is "${gates}" at the gate, ${status}, and waits for ${wait}`)
  }
  const running = slots.flatMap((slot) => runningIn(slot, store))
  if (running.length > gateMost) lines.push(`I18 nodes run ${running.join(' and ')} at once`)
  for (const id of running) if (!gate.in.includes(id)) lines.push(`I18 ${id} is run and holds no place`)
  if (gate.in.length + gate.waiting.length > 0 && !gate.isListed) lines.push('I18 no sweep looks at the gate')
  return lines
}

/** The worker whose run this node has begun, if it holds it. If the answer to a commit is lost, nobody knows what that commit has ended. */
function runningIn({ turn, pending }: Slot, { workers }: World['store']): string[] {
  if (turn?.gate !== 'in' || pending !== null) return []
  const { worker, token } = turn.assignment
  const { nonce, epoch } = workers[worker] ?? { nonce: '', epoch: 0 }
  return nonce === token.nonce && epoch === token.epoch ? [worker] : []
}
