/**
 * Duty: read bodies: JSON alone, of a bounded size and depth, without keys that could change an object's prototype.
 * JSON-BODY-1 The depth is counted before the text is parsed. (Fastify counts the bytes before that.)
 * JSON-BODY-2 Bytes that are no UTF-8 are refused: a reader that puts another character in their place stores what nobody wrote.
 * JSON-BODY-3 Numbers keep all their digits (EXACT-1 of core/exact-json.ts), as at the command line: callers in other languages have longer ones.
 */
import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { parseExactJson } from '../../core/exact-json.ts'
import type { Json } from '../../core/history/chat/chat-message.ts'
import { ApiError } from '../problem.ts'

export const bodyBytesMax = 1_048_576
const depthMax = 64

/** `charset` may be given, if it is utf-8. */
const jsonType = /^application\/(?:[a-z.+-]+\+)?json(?:\s*;\s*charset="?utf-8"?)?\s*$/i

export function readJsonAlone(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, (request, bytes: Buffer, done) => {
    if (!isUtf8(bytes)) {
      done(new ApiError(400, 'request_malformed', 'the body is not UTF-8: write the JSON in UTF-8.'))
      return
    }
    const body = bytes.toString('utf8')
    if (depthOf(body) > depthMax) {
      done(new ApiError(400, 'request_malformed', `the body is nested deeper than ${depthMax} levels.`))
      return
    }
    void parse(request, body, (error, parsed) => done(error, error ? undefined : parseExactJson(body, parsed as Json)))
  })
}

/** How deep brackets are nested; those within texts do not count. */
function depthOf(json: string): number {
  let [depth, deepest, isInText] = [0, 0, false]
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index)
    if (isInText) {
      if (code === 0x5c) index++
      else if (code === 0x22) isInText = false
    } else if (code === 0x22) isInText = true
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x5d || code === 0x7d) depth--
  }
  return deepest
}
