/**
 * Duty: the static page, if it was built. Its files hold no data, so they need no token: the page asks for one.
 * PAGE-1 An address that no route and no file has gets the page, so that its addresses can be reloaded; except under /v1.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../problem.ts'

/** The folder that the build writes. */
export function builtPage(): string | null {
  const folder = fileURLToPath(new URL('../../../dist/page/', import.meta.url))
  return existsSync(`${folder}index.html`) ? folder : null
}

const withoutPage = `This is the API of troupe: GET /openapi.json describes it.
The page is not here. In a checkout npm run build makes it; leave troupe out of a bundle (external).
`

export async function addPage(app: FastifyInstance, folder: string | null): Promise<void> {
  if (folder !== null) await app.register(fastifyStatic, { root: folder, serve: false, cacheControl: false })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/v1/*',
    config: { right: 'read' },
    handler: (request) => {
      throw notFound(request)
    },
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/*',
    config: { right: 'open' },
    handler: async (request, reply) => {
      const path = (request.params as { '*': string })['*']
      if (folder === null) {
        if (path !== '') throw notFound(request)
        return reply.type('text/plain').send(withoutPage)
      }
      // The names of these files change with their content, so browsers may keep them.
      if (path.startsWith('assets/'))
        return reply.header('cache-control', 'public, max-age=31536000, immutable').sendFile(path)
      return reply.sendFile(/\.[a-z0-9]+$/i.test(path) ? path : 'index.html')
    },
  })
  app.setNotFoundHandler((request) => {
    throw notFound(request)
  })
}

function notFound({ method, url }: FastifyRequest): ApiError {
  return new ApiError(
    404,
    'route_not_found',
    `there is no ${method} ${url.split('?', 1)[0]}: GET /openapi.json lists what there is.`,
  )
}
