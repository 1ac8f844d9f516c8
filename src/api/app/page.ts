/**
 * Duty: the static page, if it was built. Its files hold no data, so they need no token: the page asks for one.
 * PAGE-1 A path that no route and no file has leads to the screen of that name, whatever path a proxy puts before it; except under /v1.
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
      if (path === '' || /\.[a-z0-9]+$/i.test(path)) return reply.sendFile(path === '' ? 'index.html' : path)
      return reply.redirect(screenAt(request.url), 302)
    },
  })
  app.setNotFoundHandler((request) => {
    throw notFound(request)
  })
}

/** Where the screen of this path is, relative to it: the page has its own addresses behind `#`. `/sessions/x?y` is at `../#/sessions/x?y`. */
function screenAt(url: string): string {
  const [path = ''] = url.split('?', 1)
  const up = '../'.repeat(path.split('/').length - 2)
  return `${up || './'}#${url}`
}

function notFound({ method, url }: FastifyRequest): ApiError {
  return new ApiError(
    404,
    'route_not_found',
    `there is no ${method} ${url.split('?', 1)[0]}: GET /openapi.json lists what there is.`,
  )
}
