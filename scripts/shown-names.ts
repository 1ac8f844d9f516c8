/**
 * Duty: compare names that the documentation shows with the sources: routes, variables of the environment, scripts of npm (DOCS-7), and names in tables that people
 * write (DOCS-8). Each check returns one sentence for each name that does not exist.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { rights } from '../src/api/guard/rights.ts'
import { httpCodes } from '../src/api/problem.ts'
import { followSession } from '../src/api/routes/streams.ts'
import { routes } from '../src/api/routes.ts'
import { noticeTypes } from '../src/core/webhook/notice.ts'
import { memberNames } from './type-tables.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = globSync(
  ['README.md', 'CONTRIBUTING.md', 'workers/README.md', 'bench/README.md', 'docs/**/*.{md,yaml}'],
  {
    cwd: root,
  },
)

/** Each place of the pages that the form matches, with what its first group holds. */
function shown(form: RegExp): { readonly page: string; readonly name: string }[] {
  return pages.flatMap((page) => [...read(page).matchAll(form)].map(([, name = '']) => ({ page, name })))
}

/** A part of an address in the form of its documentation: `:id`, `{id}`, `<id>`, `$id`, `…`. */
const anyPart = /[:{<$…]/

export function routeProblems(): string[] {
  const named = shown(/(?<![\w/])((?:(?:GET|POST|PATCH|DELETE) |\$api)\/v1\/[^\s`"')|?,]*)/g)
  return named.filter(({ name }) => !isRoute(name)).map(({ page, name }) => `${page} shows ${name}, which is no route`)
}

function isRoute(shown: string): boolean {
  const [, method, path = ''] = /^(?:([A-Z]+) |\$api)(.*?)[.:;]*$/.exec(shown) ?? []
  const parts = path.split('/')
  return routes.some((one) => {
    const own = one.path.split('/')
    const isSame = (part: string, at: number) => part === own[at] || (own[at]?.startsWith(':') && anyPart.test(part))
    return (method ?? one.method) === one.method && own.length === parts.length && parts.every(isSame)
  })
}

export function variableProblems(): string[] {
  const sources = ['src/config.ts', ...globSync('test/support/**/*.ts', { cwd: root })].map(read).join('\n')
  const known = new Set(sources.match(/\bTROUPE_[A-Z_]+/g))
  return shown(/\b(TROUPE_[A-Z_]+)/g)
    .filter(({ name }) => !known.has(name))
    .map(({ page, name }) => `${page} names the variable ${name}, which nothing reads`)
}

/** `npm run dev` is a script of the project that `troupe new` makes. */
export function npmProblems(): string[] {
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  return shown(/\bnpm run ([a-z:]+)/g)
    .filter(({ name }) => !Object.hasOwn(scripts, name) && name !== 'dev')
    .map(({ page, name }) => `${page} shows npm run ${name}, and package.json has no such script`)
}

const ofTests = 'src/testing/test-worker.ts'
const scenario = 'src/testing/crash/scenario.ts'
const agent = 'src/core/definition/agent/define-agent.ts'
const notShown = (names: readonly string[], ...left: readonly string[]) => names.filter((name) => !left.includes(name))

function queryNames(): readonly string[] {
  return Object.keys((followSession.query as z.ZodObject).shape)
}

/** Pages with tables, the heads of these, and the names that a column must have: the first one, if none is named. */
const tables: readonly (readonly [page: string, head: string, names: () => readonly string[], column?: number])[] = [
  ['docs/api.md', '| query | means |', () => notShown(queryNames(), 'historyAfter', 'ticket')],
  ['docs/api.md', '| right | may |', () => rights],
  ['docs/api.md', '| status | codes of HTTP alone |', () => httpCodes, 2],
  ['docs/webhooks.md', '| type | when |', () => noticeTypes],
  ['docs/testing.md', '| field | default |', () => memberNames(scenario, 'Scenario')],
  [
    'docs/testing.md',
    '| field | meaning |',
    () => [...memberNames(scenario, 'RunPlace'), ...memberNames(scenario, 'Outcome')],
  ],
  [
    'docs/testing.md',
    '| option | default |',
    () => ['TestSettings', 'TestHandlerOptions', 'TestAgentOptions'].flatMap((name) => memberNames(ofTests, name)),
  ],
  [
    'docs/hooks.md',
    '| hook | is called |',
    () => memberNames('src/core/definition/agent/agent-hooks.ts', 'AgentHooks'),
  ],
  [
    'docs/agents.md',
    '| field | default |',
    () => [
      ...notShown(memberNames(agent, 'AgentWorker'), 'kind', 'receive', 'limits'),
      ...memberNames(agent, 'AgentLimits').map((name) => `limits.${name}`),
    ],
  ],
]

export function tableProblems(): string[] {
  return tables.flatMap(([page, head, names, column = 1]) => {
    const [has, needs] = [new Set(namesIn(page, head, column)), new Set(names())]
    return [
      ...needs
        .difference(has)
        .values()
        .map((name) => `${page} does not name ${name} below ${head}`),
      ...has
        .difference(needs)
        .values()
        .map((name) => `${page} names ${name} below ${head}, which does not exist`),
    ]
  })
}

/** The names in code quotes in a column of the table with this head, without what stands behind a name in brackets or after =. */
function namesIn(page: string, head: string, column: number): string[] {
  const text = read(page)
  const rows =
    text
      .slice(text.indexOf(`\n${head}`))
      .slice(1)
      .split('\n\n')[0] ?? ''
  const cells = rows
    .split('\n')
    .slice(2)
    .map((row) => row.split('|')[column] ?? '')
  return cells.flatMap((cell) => [...cell.matchAll(/`([\w.]+)(?:[(=][^`]*)?`/g)].map(([, name = '']) => name))
}
