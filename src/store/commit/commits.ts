/**
 * Duty: the commits of a node in one partition. Those of one pass of the event loop go together, in one script (bench/history.md).
 * BATCH-1 Each commit is answered as if it had been sent alone: one that meets an error is sent again by itself, and then its caller gets the error.
 * BATCH-2 `trustedUntil` is counted from before the script was sent.
 */
import { performance } from 'node:perf_hooks'
import { RuntimeError } from '../../core/errors.ts'
import type { CommitAnswer, CommitRequest } from '../../core/ports/ports.ts'
import type { PartitionKeys } from '../keys.ts'
import { Batcher, bytesOf } from '../script/batcher.ts'
import type { Reply, ScriptCaller } from '../script/script.ts'
import { commitScript } from '../script/scripts.ts'
import { newSeed } from '../wakeups.ts'
import { type CommitArgs, type CommitContext, commitArgs, decodeCommit } from './commit-args.ts'

interface Waiting extends CommitArgs {
  readonly bytes: number
  readonly answer: PromiseWithResolvers<CommitAnswer>
}

/** The position of the first text among the arguments of a script, counted from 1: behind the header. */
const firstText = 2
/** About: of the fields of a commit in the header, and of each child, without its permissions. */
const fieldsBytes = 300

export class Commits {
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #context: CommitContext
  readonly #batcher = new Batcher<Waiting>(
    (batch) => void this.#send(batch),
    (leave) => setImmediate(leave),
  )

  constructor(caller: ScriptCaller, keys: PartitionKeys, context: CommitContext) {
    this.#caller = caller
    this.#keys = keys
    this.#context = context
  }

  commit(request: CommitRequest): Promise<CommitAnswer> {
    const { fields, texts } = commitArgs(request, this.#context)
    const permissions = request.spawns.map((spawn) => spawn.permissions ?? '')
    const bytes = bytesOf(texts) + bytesOf(permissions) + fieldsBytes * (1 + permissions.length)
    const answer = Promise.withResolvers<CommitAnswer>()
    this.#batcher.add({ fields, texts, bytes, answer })
    return answer.promise
  }

  /** Sends at once what waits for the end of this pass: before other calls of the same node, which may be about the same turns. */
  flush(): void {
    this.#batcher.flush()
  }

  /** `asked`: when these commits were sent for the first time. */
  async #send(batch: readonly Waiting[], asked = performance.now()): Promise<void> {
    const { leaseMs, leaseMarginMs, wakeupMs } = this.#context.policy
    const { leases, events } = this.#keys
    let from = firstText
    const commits = batch.map(({ fields, texts }) => {
      const commit = { ...fields, texts: from }
      from += texts.length
      return commit
    })
    const args = { wakeupMs, seed: newSeed(), commits, texts: batch.flatMap(({ texts }) => texts) }
    const deadlineMs = Math.max(1, asked + leaseMs - performance.now())
    let replies: Reply
    try {
      replies = await this.#caller.call(commitScript, { leases, events }, args, { deadlineMs })
    } catch (error) {
      // Where the time is over none is sent again. Else one of them met something that is not as it should be: each is sent by itself (BATCH-1).
      const isFinal = batch.length === 1 || (error instanceof RuntimeError && error.retryable)
      for (const waiting of batch) {
        if (isFinal) waiting.answer.reject(error)
        else void this.#send([waiting], asked)
      }
      return
    }
    for (const [index, waiting] of batch.entries()) {
      const reply = replies[index] as Reply
      if (reply[0] === 'failed') void this.#send([waiting])
      else answerWith(waiting, () => decodeCommit(reply, asked + leaseMs - leaseMarginMs))
    }
  }
}

function answerWith({ answer }: Waiting, read: () => CommitAnswer): void {
  try {
    answer.resolve(read())
  } catch (error) {
    answer.reject(error)
  }
}
