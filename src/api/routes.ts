/** Duty: the list of all routes. A route that is not here does not exist. */
import type { Route } from './route.ts'

import {
  countSessions,
  listKinds,
  listNodes,
  pauseAll,
  releaseNode,
  resumeAll,
  showAudit,
  showHealth,
  showNode,
  startAudit,
} from './routes/fleet.ts'
import { dismissLetter, listLetters, redriveLetter } from './routes/letters.ts'
import {
  answerAsk,
  decideApproval,
  decideApprovals,
  listApprovals,
  listAsks,
  showApproval,
  showAsk,
} from './routes/people.ts'

import { autoscale, listPartitions, listPools } from './routes/pools.ts'

import { healthz, openapi, readyz } from './routes/server.ts'
import {
  cancelSession,
  closeSession,
  forkSession,
  limitSession,
  pauseSession,
  resumeSession,
  retrySession,
  sendToSession,
  setApproval,
} from './routes/session-actions.ts'
import { exportSession, retryOutlook, sessionTimeline, sessionTree } from './routes/session-views.ts'
import { createSession, listSessions, sessionResult, showSession } from './routes/sessions.ts'
import { followFleet, followSession } from './routes/streams.ts'
import { giveTicket } from './routes/tickets.ts'
import { metrics, usage } from './routes/usage.ts'
import {
  addWebhook,
  disableWebhook,
  enableWebhook,
  listDeliveries,
  listWebhooks,
  redeliver,
  removeWebhook,
  rotateWebhook,
  showDelivery,
  showWebhook,
  testWebhook,
} from './routes/webhooks.ts'
import {
  cancelWorker,
  compactWorker,
  configureWorker,
  expandWorker,
  forkWorker,
  redoWorker,
  runWorker,
  sendToWorker,
  undoWorker,
} from './routes/worker-actions.ts'
import { listWorkers, showWorker, workerContext, workerHistory, workerMailbox, workerTokens } from './routes/workers.ts'

const ofSessions = [
  listSessions,
  createSession,
  showSession,
  sessionTree,
  sessionTimeline,
  exportSession,
  sessionResult,
  followSession,
  cancelSession,
  pauseSession,
  resumeSession,
  retrySession,
  retryOutlook,
  forkSession,
  closeSession,
  sendToSession,
  limitSession,
  setApproval,
]

const ofWorkers = [
  listWorkers,
  showWorker,
  workerHistory,
  workerMailbox,
  workerContext,
  workerTokens,
  sendToWorker,
  cancelWorker,
  compactWorker,
  expandWorker,
  undoWorker,
  redoWorker,
  runWorker,
  configureWorker,
  forkWorker,
]

const ofPeople = [listAsks, showAsk, answerAsk, listApprovals, showApproval, decideApprovals, decideApproval]

const ofFleet = [
  listNodes,
  showNode,
  releaseNode,
  listPools,
  listPartitions,
  autoscale,
  listKinds,
  showHealth,
  countSessions,
  followFleet,
  showAudit,
  startAudit,
  pauseAll,
  resumeAll,
  listLetters,
  redriveLetter,
  dismissLetter,
]

const ofWebhooks = [
  listWebhooks,
  addWebhook,
  listDeliveries,
  showDelivery,
  redeliver,
  showWebhook,
  removeWebhook,
  rotateWebhook,
  enableWebhook,
  disableWebhook,
  testWebhook,
]

export const routes: readonly Route[] = [
  healthz,
  readyz,
  openapi,
  metrics,
  usage,
  giveTicket,
  ...ofSessions,
  ...ofWorkers,
  ...ofPeople,
  ...ofFleet,
  ...ofWebhooks,
]
