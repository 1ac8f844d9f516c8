/** Duty: pause and resume one session, or all sessions of a partition. One instance per partition. */
import { newId } from '../../core/ids.ts'
import type { Policy } from '../../core/policy.ts'
import type { Wakeup } from '../../core/ports/wake.ts'
import { type PartitionKeys, rootKey, sessionKeys } from '../keys.ts'
import type { PauseNote } from '../record/pause-note.ts'
import type { ScriptCaller } from '../script/script.ts'
import { pauseAllScript, pauseScript, resumeScript } from '../script/scripts.ts'
import { newSeed, parseWakeups } from '../wakeups.ts'

export class PauseStore {
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #policy: Policy
  readonly #deadlineMs: number

  constructor(caller: ScriptCaller, keys: PartitionKeys, policy: Policy, deadlineMs: number) {
    this.#caller = caller
    this.#keys = keys
    this.#policy = policy
    this.#deadlineMs = deadlineMs
  }

  /**
   * `turns`: how many turns of the session run on nodes that do not know of the pause yet. With `goesOn`, a later call tells how many of these turns are
   * left, or that somebody has resumed the session since.
   */
  async pause(
    sessionId: string,
    note: PauseNote,
    goesOn = false,
    digest: string = newId(0),
  ): Promise<
    { kind: 'ok'; turns: number } | { kind: 'not_found' } | { kind: 'resumed' } | { kind: 'finished'; state: string }
  > {
    const { why, by } = note
    const { tag, leases, events, idem, cancelNotices: channel } = this.#keys
    const { workers } = sessionKeys(tag, sessionId)
    const keys = { root: rootKey(tag, sessionId), leases, events, idem: idem(digest), workers }
    const event = JSON.stringify([['session.paused', { why, by }]])
    let turns = 0
    // Each call looks at some of the workers. The first one pauses; the others only go on counting.
    for (
      let from = 0, goesFurther = true, idemMs: number = goesOn ? 0 : this.#policy.madeKeyMs;
      goesFurther;
      idemMs = 0
    ) {
      const args = { sessionId, note: JSON.stringify(note), channel, event, idemMs, from }
      const reply = await this.#caller.call(pauseScript, keys, args, { deadlineMs: this.#deadlineMs })
      if (reply[0] === 'finished') return { kind: 'finished', state: String(reply[1]) }
      if (reply[0] !== 'ok') return reply[0] === 'resumed' ? { kind: 'resumed' } : { kind: 'not_found' }
      turns += Number(reply[1])
      goesFurther = reply[2] !== ''
      from = Number(reply[2])
    }
    return { kind: 'ok', turns }
  }

  /** Pauses all sessions of the partition; null resumes them. The first pause stands. */
  async pauseAll(note: PauseNote | null, digest: string = newId(0)): Promise<void> {
    await this.#caller.call(
      pauseAllScript,
      { meta: this.#keys.meta, idem: this.#keys.idem(digest) },
      {
        note: note === null ? '' : JSON.stringify(note),
        channel: this.#keys.cancelNotices,
        idemMs: this.#policy.madeKeyMs,
      },
      { deadlineMs: this.#deadlineMs, doing: `${note === null ? 'resuming' : 'pausing'} all sessions` },
    )
  }

  async resume(
    sessionId: string,
    event: string,
    digest: string = newId(0),
  ): Promise<{ kind: 'ok'; wakeups: readonly Wakeup[] } | { kind: 'not_found' }> {
    const { held, quiet } = sessionKeys(this.#keys.tag, sessionId)
    const { events, tag } = this.#keys
    const keys = { root: rootKey(tag, sessionId), held, quiet, events, idem: this.#keys.idem(digest) }
    const { wakeupMs, madeKeyMs } = this.#policy
    const wakeups: Wakeup[] = []
    // If this process dies before the last call, nodes go on.
    for (let answer: unknown = 'more', idemMs = madeKeyMs; answer === 'more'; idemMs = 0) {
      const args = { sessionId, seed: newSeed(), wakeupMs, event, idemMs }
      const reply = await this.#caller.call(resumeScript, keys, args, { deadlineMs: this.#deadlineMs })
      answer = reply[0]
      if (answer === 'not_found') return { kind: 'not_found' }
      wakeups.push(...parseWakeups(reply[1]))
    }
    return { kind: 'ok', wakeups }
  }
}
