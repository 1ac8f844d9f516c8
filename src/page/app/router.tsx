/**
 * Duty: the addresses of the page: which screen each names, and what it keeps of filters and choices.
 * ROUTER-1 An address stands behind `#`, so that any server serves the page under any path, and a file of it works without one.
 */
import { createHashHistory, createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { ApprovalsScreen } from '../screens/approvals/approvals-screen.tsx'
import { AuditScreen } from '../screens/audit/audit-screen.tsx'
import { CostsScreen } from '../screens/costs/costs-screen.tsx'
import { DeadScreen } from '../screens/dead/dead-screen.tsx'
import { FleetScreen } from '../screens/fleet/fleet-screen.tsx'
import { KindsScreen } from '../screens/kinds/kinds-screen.tsx'
import { NowScreen } from '../screens/now/now-screen.tsx'
import { SessionScreen } from '../screens/session/session-screen.tsx'
import { WorkerScreen } from '../screens/session/worker-screen.tsx'
import { SessionsScreen } from '../screens/sessions/sessions-screen.tsx'
import { WebhookScreen } from '../screens/webhooks/webhook-screen.tsx'
import { WebhooksScreen } from '../screens/webhooks/webhooks-screen.tsx'
import { Shell } from './shell.tsx'

type Raw = Record<string, unknown>

/** A value of the address as text: the router has parsed it. */
function text(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Only values that are set stand in an address. */
function texts<Name extends string>(raw: Raw, names: readonly Name[]): { readonly [Each in Name]?: string } {
  return Object.fromEntries(
    names.flatMap((name) => (text(raw[name]) === undefined ? [] : [[name, text(raw[name])]])),
  ) as {
    readonly [Each in Name]?: string
  }
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

function NotFound() {
  return <div className="empty">There is no such screen.</div>
}

const now = createRoute({ getParentRoute: () => root, path: '/', component: NowScreen })
const approvals = createRoute({
  getParentRoute: () => root,
  path: '/approvals',
  validateSearch: (raw: Raw) => texts(raw, ['ask']),
  component: ApprovalsScreen,
})
const dead = createRoute({ getParentRoute: () => root, path: '/dead', component: DeadScreen })
const fleet = createRoute({ getParentRoute: () => root, path: '/fleet', component: FleetScreen })
const costs = createRoute({
  getParentRoute: () => root,
  path: '/costs',
  validateSearch: (raw: Raw) => texts(raw, ['by']),
  component: CostsScreen,
})
const kinds = createRoute({
  getParentRoute: () => root,
  path: '/kinds',
  validateSearch: (raw: Raw) => texts(raw, ['kind']),
  component: KindsScreen,
})
const audit = createRoute({ getParentRoute: () => root, path: '/audit', component: AuditScreen })
const webhooks = createRoute({
  getParentRoute: () => root,
  path: '/webhooks',
  validateSearch: (raw: Raw) => texts(raw, ['state']),
  component: WebhooksScreen,
})
const webhook = createRoute({
  getParentRoute: () => root,
  path: '/webhooks/$id',
  validateSearch: (raw: Raw) => texts(raw, ['state']),
  component: WebhookScreen,
})
const worker = createRoute({ getParentRoute: () => root, path: '/workers/$id', component: WorkerScreen })
const sessions = createRoute({
  getParentRoute: () => root,
  path: '/sessions',
  validateSearch: (raw: Raw) => texts(raw, ['state', 'kind', 'name']),
  component: SessionsScreen,
})
const session = createRoute({
  getParentRoute: () => root,
  path: '/sessions/$id',
  validateSearch: (raw: Raw) => texts(raw, ['worker', 'tab']),
  component: SessionScreen,
})

export const router = createRouter({
  routeTree: root.addChildren([
    now,
    sessions,
    session,
    worker,
    approvals,
    dead,
    fleet,
    costs,
    kinds,
    webhooks,
    webhook,
    audit,
  ]),
  history: createHashHistory(),
  defaultPreload: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
