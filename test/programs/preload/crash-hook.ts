/**
 * Loaded into a program of fault tests before itself (`--import`): goes round the ports to store and wake-ups and passes the crash points
 * there. Without TROUPE_CRASH_AT it is not loaded at all.
 */
import type { CommitRequest } from '../../../src/core/ports/ports.ts'
import { ScriptCaller } from '../../../src/store/script/script.ts'
import { RedisTurnStore } from '../../../src/store/turn/turn-store.ts'
import { BullWaker } from '../../../src/wake/bull-waker.ts'
import { isArmed, isAt, passes } from '../../support/fault/harm/crash-moment.ts'

if (isArmed) {
  aroundScripts()
  aroundTurns()
  aroundWakeups()
}

function aroundScripts(): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
  const call = ScriptCaller.prototype.call
  ScriptCaller.prototype.call = async function (this: ScriptCaller, ...all: Parameters<typeof call>) {
    const name = all[0].file.replace('.lua', '')
    passes(`${name}.before`)
    const answer = call.apply(this, all)
    // By then the request was handed to the socket: whether Redis gets it is open, as with any death.
    if (isAt(`${name}.asked`)) setImmediate(() => passes(`${name}.asked`))
    const reply = await answer
    passes(`${name}.answered`)
    return reply
  }
}

function aroundTurns(): void {
  let draining = false
  process.prependListener('SIGTERM', () => {
    draining = true
  })
  // oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
  const { claim, commit } = RedisTurnStore.prototype
  RedisTurnStore.prototype.claim = async function (this: RedisTurnStore, next) {
    const answer = await claim.call(this, next)
    if (answer.kind === 'assigned') passes('claim.assigned')
    return answer
  }
  RedisTurnStore.prototype.commit = async function (this: RedisTurnStore, request: CommitRequest) {
    if (draining) passes('drain')
    const reply = request.entries.some((entry) => entry.includes('"type":"assistant"'))
    if (reply) passes('reply.before')
    const answer = await commit.call(this, request)
    if (reply) passes('reply.recorded')
    passes(request.end ? 'commit.end' : 'commit.step')
    return answer
  }
}

function aroundWakeups(): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
  const wake = BullWaker.prototype.wake
  BullWaker.prototype.wake = function (this: BullWaker, partition, wakeups) {
    if (wakeups.length > 0) passes('wake')
    wake.call(this, partition, wakeups)
  }
}
