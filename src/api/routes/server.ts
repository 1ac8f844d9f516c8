/** Duty: the routes about the server itself: is it alive, can it work, what does it understand. */
import { z } from 'zod'
import { TransientError } from '../../core/errors.ts'
import { route } from '../route.ts'

const cli = { none: 'it is about the server of the API' }

export const healthz = route({
  id: 'healthz',
  method: 'GET',
  path: '/healthz',
  right: 'open',
  tag: 'server',
  summary: 'Is the process alive?',
  replies: { 200: z.object({ status: z.literal('alive') }) },
  asksRedis: false,
  cli,
  handle: () => ({ status: 'alive' }),
})

/** Whoever asks whether the server can work waits for this at most. */
const readyMsMax = 2_000

export const readyz = route({
  id: 'readyz',
  method: 'GET',
  path: '/readyz',
  right: 'open',
  tag: 'server',
  summary: 'Does Redis answer? 503 if not.',
  replies: { 200: z.object({ status: z.literal('ready') }) },
  asksRedis: false,
  cli: { command: 'doctor' },
  async handle({ server }) {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => reject(new TransientError('Redis does not answer.', { code: 'store_unavailable' })),
      readyMsMax,
    )
    try {
      await Promise.race([late, server.reading().then((troupe) => troupe.nodes())])
      return { status: 'ready' }
    } finally {
      clearTimeout(timer)
    }
  },
})

export const openapi = route({
  id: 'openapi',
  method: 'GET',
  path: '/openapi.json',
  right: 'read',
  tag: 'server',
  summary: 'This document.',
  replies: { 200: z.record(z.string(), z.unknown()) },
  asksRedis: false,
  cli,
  handle: ({ server }) => server.document,
})
