/** An assignment and a node, made by hand: the test sees what a turn asks of its store, and answers it. */

import { newId } from '../../../src/core/ids.ts'
import { defaultSpending, defaultWorkerLimits, policy } from '../../../src/core/policy.ts'
import type { Assignment, CommitAnswer, CommitRequest, SessionSpending } from '../../../src/core/ports/ports.ts'
import { noTelemetry } from '../../../src/core/ports/telemetry.ts'
import { defaultApproval } from '../../../src/core/worker/ask/session-approval.ts'
import type { TurnHost } from '../../../src/runtime/turn/turn-host.ts'
import { MemoryBlobs } from '../../../src/testing/memory-blobs.ts'

/** The spending of a session that says nothing about limits. */
const unspent: SessionSpending = { spent: null, allowed: defaultSpending }

export const silentLog = { debug() {}, info() {}, warn() {}, error() {} }

export function assignmentByHand(more: Partial<Assignment> = {}): Assignment {
  const workerId = newId(0)
  return {
    workerId,
    purpose: 'run',
    retrying: '',
    token: '1:nonce',
    epoch: 1,
    suspect: false,
    sessionId: newId(0),
    parentId: null,
    isJob: true,
    parentRun: null,
    call: null,
    kind: 'echo',
    name: 'echo',
    pool: 'default',
    depth: 0,
    limits: defaultWorkerLimits,
    spending: unspent,
    approval: defaultApproval,
    run: 1,
    open: false,
    runState: 'ProcessingUserMessage',
    version: 0,
    starts: 1,
    crashes: 0,
    lastWords: null,
    begunRun: 0,
    isDryRun: false,
    attempt: 0,
    calls: 0,
    pendingCalls: [],
    signalsOpen: 0,
    steps: 0,
    stateJson: null,
    commitId: '',
    resultsTaken: 0,
    resultsSeen: 0,
    permissions: {},
    mail: {
      signals: [],
      results: [],
      inbox: [{ lane: 'inbox', position: 0, message: { kind: 'input', id: newId(0), from: null, value: 1 } }],
    },
    trustedUntil: performance.now() + 60_000,
    ...more,
  }
}

type Accepted = CommitAnswer & { readonly kind: 'ok' }

/** The answer to a commit that was recorded: the record has this version now. */
export function accepted(version: number, more: Partial<Accepted> = {}): Accepted {
  return {
    kind: 'ok',
    version,
    wakeups: [],
    claimed: { kind: 'none' },
    spending: unspent,
    approval: defaultApproval,
    ...more,
  }
}

/** A store whose answers to commits the test gives, one by one. */
export class HeldStore {
  readonly commits: { readonly request: CommitRequest; answer(answer: CommitAnswer): void }[] = []

  host(): TurnHost {
    const claim = {
      pool: 'default',
      wakeup: 'b',
      slot: '0',
      nonce: 'n',
      maySuspect: false,
      wasBusy: false,
      keepWakeup: false,
    }
    return {
      store: {
        commit: (request: CommitRequest) =>
          new Promise<CommitAnswer>((resolve) => this.commits.push({ request, answer: resolve })),
      } as unknown as TurnHost['store'],
      blobs: new MemoryBlobs(),
      log: silentLog,
      policy,
      wakeup: 'b',
      wake() {},
      plan: () => ({ kind: 'claim', claim }),
      noteBusy() {},
      noteTimer() {},
      noteGate() {},
      nodeId: 'n-test',
      describeKind: () => '',
      live: { isFollowed: () => false, publish() {} },
      poolOf: () => 'default',
      telemetry: noTelemetry,
      workerLog: () => silentLog,
    }
  }
}
