/** Mutants of what concerns messages to workers of other partitions. */
import { commitScript, deliveredScript, deliverScript } from '../../../../src/store/script/scripts.ts'
import type { Mutant } from '../mutant.ts'
import * as checks from './outbox-checks.ts'

export const outboxMutants: readonly Mutant[] = [
  {
    guard: 'what another partition is to get goes to it',
    script: commitScript,
    takenOut: { value: 'false' },
    check: checks.whatAnotherPartitionIsToGetGoesToIt,
  },
  { guard: 'limit of an outbox', script: commitScript, takenOut: 'line', check: checks.anOutboxHasALimit },
  {
    guard: 'a mail of another partition is received once',
    script: deliverScript,
    takenOut: { condition: 'true' },
    check: checks.aMailIsReceivedOnce,
  },
  { guard: 'what was received is noted', script: deliverScript, takenOut: 'line', check: checks.aMailIsReceivedOnce },
  {
    guard: 'a damaged recipient holds up no mail of others',
    script: deliverScript,
    takenOut: { value: "error('a recipient is damaged', 0)" },
    check: checks.aDamagedRecipientHoldsUpNoOther,
  },
  {
    guard: 'a mail stays in its outbox until it was received',
    script: deliveredScript,
    takenOut: { condition: 'false' },
    check: checks.aMailStaysUntilItWasReceived,
  },
  {
    guard: 'what was not taken is told of once',
    script: deliveredScript,
    takenOut: { condition: 'true' },
    check: checks.whatWasNotTakenIsToldOfOnce,
  },
]
