/** Duty: the routes that monitors and bills read: metrics, and what model calls used and cost. */
import { z } from 'zod'
import { metricsPage } from '../../client/health/metrics-page.ts'
import { type UsageRow, usageParts } from '../../client/usage.ts'
import { withAway } from '../away.ts'
import { route } from '../route.ts'
import { away, count } from '../schemas/parts.ts'
import { schemaOf } from '../schemas/schema-of.ts'

const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export const metrics = route({
  id: 'metrics',
  method: 'GET',
  path: '/metrics',
  right: 'read',
  tag: 'server',
  summary: 'Metrics for Prometheus',
  description: 'How the namespace stands. Nodes answer with what they count themselves: `troupe node --metrics`.',
  replies: { 200: z.string() },
  raw: metricsType,
  cli: { none: '`troupe node --metrics` answers with what a node counts' },
  asksRedis: false,
  async handle({ server, reply }) {
    const text = await metricsPage(() => server.reading().then((troupe) => troupe.facts()))
    return reply.type(metricsType).send(text)
  },
})

const usageRow = schemaOf<UsageRow>()(
  'UsageRow',
  z.object({
    day: z.string().exactOptional().describe('A day of UTC: `2026-11-27`.'),
    hour: z.string().exactOptional().describe('Its beginning: `2026-11-27T14:00Z`.'),
    kind: z.string().exactOptional(),
    model: z.string().exactOptional(),
    modelCalls: z.number(),
    inputTokens: z.number(),
    outputTokens: z.number(),
    costMicroUsd: z.number().describe('In millionths of a dollar, by the prices at the time of each call.'),
    unpricedModelCalls: z.number().describe('Calls that are not in the cost: nobody knows the price of their model.'),
  }),
)

const partsText = z
  .string()
  .regex(new RegExp(`^(${usageParts.join('|')})(,(${usageParts.join('|')}))*$`))
  .describe(
    `What the rows are of: ${usageParts.join(', ')}, or several with commas. Default: day,kind,model; with hours: hour,kind,model.`,
  )

export const usage = route({
  id: 'usage',
  method: 'GET',
  path: '/v1/usage',
  right: 'read',
  tag: 'server',
  summary: 'What model calls used and cost, by day or hour, kind and model',
  query: z.strictObject({
    by: partsText.optional(),
    days: count(400).optional().describe('Default 30.'),
    hours: count(744).optional().describe('In place of days. Default 24 with rows by hour.'),
  }),
  replies: { 200: z.object({ usage: z.array(usageRow), away }) },
  cli: { command: 'usage' },
  handle: ({ troupe, query: { by, ...query } }) =>
    withAway(async (onAway) => ({
      usage: await troupe.usage({ ...query, by: by?.split(',') as (typeof usageParts)[number][] | undefined, onAway }),
    })),
})
