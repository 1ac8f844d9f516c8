/**
 * Duty: the commits of a node in one partition. Those of one pass of the event loop go together, in one script (decision 0024).
 * J1 Each is answered as if it had been sent alone: one that meets an error is sent again by itself, and then says so itself.
 * J2 `trustedUntil` is counted from before the script was sent.
 */
import { performance } from 'node:perf_hooks'
import { RuntimeError } from '../../core/errors.ts'
import type { CommitAnswer, CommitRequest } from '../../core/ports/ports.ts'
import { newSeed } from '../bells.ts'
import { commitKeys, type PartitionKeys } from '../keys.ts'
import { bytesOf, Gathering } from '../script/gathering.ts'
import type { Argument, Reply, ScriptCaller } from '../script/script.ts'
import { commitScript, commitsScript } from '../script/scripts.ts'
import { type CommitContext, commitLists, decodeCommit, turnWords } from './commit-words.ts'

interface Waiting {
  readonly request: CommitRequest
  /** Its entries and facts. */
  readonly lists: readonly Argument[]
  readonly bytes: number
  readonly answer: PromiseWithResolvers<CommitAnswer>
}

export class Commits {
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #context: CommitContext
  readonly #gathering = new Gathering<Waiting>(
    (some) => this.#send(some),
    (leave) => setImmediate(leave),
  )

  constructor(caller: ScriptCaller, keys: PartitionKeys, context: CommitContext) {
    this.#caller = caller
    this.#keys = keys
    this.#context = context
  }

  commit(request: CommitRequest): Promise<CommitAnswer> {
    const lists = commitLists(request, this.#context)
    const answer = Promise.withResolvers<CommitAnswer>()
    this.#gathering.add({ request, lists, bytes: bytesOf(lists), answer })
    return answer.promise
  }

  /** What waits leaves now: before other calls of the same node, which may be about the same turns. */
  flush(): void {
    this.#gathering.flush()
  }

  #send(some: readonly Waiting[]): void {
    const [first] = some as [Waiting]
    if (some.length > 1) void this.#sendTogether(some)
    else void this.#sendAlone(first)
  }

  /** `asked`: when it was sent for the first time. */
  async #sendAlone({ request, lists, answer }: Waiting, asked = performance.now()): Promise<void> {
    const trustedUntil = this.#trustedUntil(asked)
    const { token, sequence, version, runState, userUsed, event } = request
    const args = {
      token,
      sequence,
      version,
      runState,
      open: request.open ? '1' : '0',
      userUsed,
      wait: request.end?.wait ?? '',
      event,
      bellMs: this.#context.policy.bellMs,
      seed: newSeed(),
      entries: lists,
    }
    const keys = commitKeys(this.#keys, request.workerId)
    // Heard of at once: what is answered in the same packet comes behind it.
    try {
      const reply = await this.#caller.call(commitScript, keys, args, { deadlineMs: this.#timeLeft(asked) })
      answer.resolve(decodeCommit(reply, trustedUntil))
    } catch (error) {
      answer.reject(error)
    }
  }

  async #sendTogether(some: readonly Waiting[]): Promise<void> {
    const asked = performance.now()
    const trustedUntil = this.#trustedUntil(asked)
    const { bellMs } = this.#context.policy
    const { leases, events } = this.#keys
    const args = { bellMs, seed: newSeed(), turns: some.flatMap(({ request, lists }) => turnWords(request, lists)) }
    let replies: Reply
    try {
      replies = await this.#caller.call(commitsScript, { leases, events }, args, { deadlineMs: this.#timeLeft(asked) })
    } catch (error) {
      // Its time is over, or one of them met something that is not as it should be: which, they say themselves (J1).
      const isOver = error instanceof RuntimeError && error.retryable
      for (const waiting of some) {
        if (isOver) waiting.answer.reject(error)
        else void this.#sendAlone(waiting, asked)
      }
      return
    }
    for (const [index, waiting] of some.entries()) {
      const reply = replies[index] as Reply
      if (reply[0] === 'failed') void this.#sendAlone(waiting)
      else answerWith(waiting, () => decodeCommit(reply, trustedUntil))
    }
  }

  #trustedUntil(asked: number): number {
    const { leaseMs, leaseMarginMs } = this.#context.policy
    return asked + leaseMs - leaseMarginMs
  }

  #timeLeft(asked: number): number {
    return Math.max(1, asked + this.#context.policy.leaseMs - performance.now())
  }
}

function answerWith({ answer }: Waiting, read: () => CommitAnswer): void {
  try {
    answer.resolve(read())
  } catch (error) {
    answer.reject(error)
  }
}
