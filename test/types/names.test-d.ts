/** What programs are given has names: each part of a health report and of a context can be written down as a type. */
import { expectTypeOf, test } from 'vitest'
import type {
  BackgroundTasks,
  BusyGate,
  CallApprovals,
  ClusterFacts,
  ClusterServer,
  ContextContainer,
  ContextSize,
  ExpiredWorker,
  GateSort,
  Health,
  HeldUpWorker,
  PendingTurn,
  RedisAccess,
  RunSoFar,
  ServerFacts,
  Stranded,
  StrandedReason,
  SubCalls,
  WrongEntry,
} from '../../src/index.ts'

test('each part of a health report has a name', () => {
  expectTypeOf<Health['redis']>().toExtend<ServerFacts>()
  expectTypeOf<ServerFacts['access']>().toEqualTypeOf<RedisAccess>()
  expectTypeOf<Health['cluster']>().toEqualTypeOf<ClusterFacts | null>()
  expectTypeOf<ClusterFacts['servers'][number]>().toEqualTypeOf<ClusterServer>()
  expectTypeOf<Health['stranded'][number]>().toEqualTypeOf<Stranded>()
  expectTypeOf<Stranded['reason']>().toEqualTypeOf<StrandedReason>()
  expectTypeOf<Health['wrongEntries'][number]>().toEqualTypeOf<WrongEntry>()
  expectTypeOf<Health['gates'][number]>().toEqualTypeOf<BusyGate>()
  expectTypeOf<BusyGate['sort']>().toEqualTypeOf<GateSort>()
  expectTypeOf<Health['heldUp'][number]>().toEqualTypeOf<HeldUpWorker>()
  expectTypeOf<Health['expiredWorkers'][number]>().toEqualTypeOf<ExpiredWorker>()
})

test('each part of a context has a name', () => {
  expectTypeOf<ContextContainer['size']>().toEqualTypeOf<ContextSize>()
  expectTypeOf<ContextContainer['run']>().toEqualTypeOf<RunSoFar>()
  expectTypeOf<ContextContainer['background']>().toEqualTypeOf<BackgroundTasks>()
  expectTypeOf<PendingTurn['approvals']>().toEqualTypeOf<CallApprovals>()
  expectTypeOf<PendingTurn['subCalls']>().toEqualTypeOf<SubCalls>()
})
