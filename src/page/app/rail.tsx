/** The name in a narrow window. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

const logo = new URL('../icon.svg', import.meta.url).href

interface Screen {
  readonly to: '/' | '/sessions' | '/approvals' | '/dead' | '/fleet' | '/costs' | '/kinds' | '/webhooks' | '/audit'
  readonly name: string
  /** The name in a narrow window. */
  readonly short?: string
  readonly icon: IconName
  /** The key to press after `g`. */
  readonly key: string
}

export const screens: readonly Screen[] = [
  { to: '/', name: 'Now', icon: 'now', key: 'n' },
  { to: '/sessions', name: 'Sessions', icon: 'sessions', key: 's' },
  { to: '/approvals', name: 'Approvals', short: 'Approve', icon: 'approvals', key: 'a' },
  { to: '/dead', name: 'Dead letters', short: 'Dead', icon: 'dead', key: 'd' },
  { to: '/fleet', name: 'Fleet', icon: 'fleet', key: 'f' },
  { to: '/costs', name: 'Costs', icon: 'costs', key: 'c' },
  { to: '/kinds', name: 'Kinds', icon: 'kinds', key: 'k' },
  { to: '/webhooks', name: 'Webhooks', short: 'Hooks', icon: 'webhooks', key: 'w' },
  { to: '/audit', name: 'Audit', icon: 'audit', key: 'u' },
]

export function Rail({ counts }: { readonly counts: Readonly<Record<string, number>> }): ReactNode {
  return (
    <nav className="rail" aria-label="Screens">
      <span className="rail-logo">
        <img src={logo} alt="troupe" />
      </span>
      {screens.map(({ to, name, short = name, icon }) => {
        const count = counts[to] ?? 0
        return (
          <Link
            key={to}
            to={to}
            className="rail-link"
            activeOptions={{ exact: to !== '/sessions' && to !== '/webhooks' }}
          >
            <Icon name={icon} />
            {count > 0 && (
              <span className="rail-count" aria-hidden="true">
                {count > 99 ? '99+' : count}
              </span>
            )}
            <span className="rail-name" aria-hidden="true">
              {name}
            </span>
            <span className="rail-short" aria-hidden="true">
              {short}
            </span>
            <span className="spoken">
              {name}
              {count > 0 && ` (${count} wait)`}
            </span>
          </Link>
        )
      })}
    </nav>
  )
}
