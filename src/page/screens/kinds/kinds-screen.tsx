/** Duty: the screen of kinds: what each is for, who hosts it, and a playground that begins a session of it. */
import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { useKinds } from '../../api/queries.ts'
import { useRowKeys } from '../../parts/list/rows.ts'
import { Empty, Waiting } from '../../parts/state/empty.tsx'
import { Line, Text } from '../../parts/text/text.tsx'
import { useTitle } from '../../parts/text/title.tsx'
import { NoNode } from './no-node.tsx'
import { Playground } from './playground.tsx'

const route = getRouteApi('/kinds')

export function KindsScreen(): ReactNode {
  useTitle('Kinds')
  const query = useKinds()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const kinds = query.data?.kinds ?? []
  const chosen = kinds.find(({ kind }) => kind === search.kind) ?? kinds[0]
  const choose = (kind: string | undefined) => {
    if (kind !== undefined) void navigate({ search: { kind }, replace: true })
  }
  // In a narrow window the playground stands below the list.
  const playground = useRef<HTMLElement>(null)
  useEffect(() => {
    if (search.kind !== undefined) playground.current?.scrollIntoView({ block: 'nearest' })
  }, [search.kind])
  const idOf = ({ kind }: { readonly kind: string }) => kind
  const row = useRowKeys('Kinds', { rows: kinds, idOf, open: ({ kind }) => choose(kind) })
  return (
    <div className="screen-body two">
      <section className="box" aria-label="Kinds">
        <Waiting query={query} what="kinds" />
        {query.data !== undefined && kinds.length === 0 && (
          <Empty commands={['troupe new my-agents', 'troupe node --workers ./workers']}>
            No node has registered a kind yet.
          </Empty>
        )}
        <ul className="kinds">
          {kinds.map(({ kind, description, hosted, nodes, pool }, index) => (
            <li key={kind} data-chosen={kind === chosen?.kind} data-row={index === row}>
              <button type="button" className="kind" onClick={() => choose(kind)}>
                <strong>
                  <Line text={kind} />
                </strong>
                <span className="muted">
                  <Text text={description} isLine />
                </span>
                <span className="kind-facts">
                  {pool !== 'default' && <span className="tag">pool {pool}</span>}
                  <span className={hosted ? 'tag' : 'tag warn'}>
                    {hosted ? `${nodes} ${nodes === 1 ? 'node' : 'nodes'}` : 'no live node hosts it'}
                  </span>
                </span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      {chosen !== undefined && (
        <section ref={playground} className="box" aria-label={`Playground of ${chosen.kind}`}>
          <div className="box-head">
            <h2>
              <Text text={chosen.kind} isLine />
            </h2>
            <Link to="/sessions" search={{ kind: chosen.kind }}>
              its sessions
            </Link>
          </div>
          {!chosen.hosted && (
            <div className="box-body">
              <NoNode kind={chosen.kind} />
            </div>
          )}
          <Playground key={chosen.kind} kind={chosen} />
        </section>
      )}
    </div>
  )
}
