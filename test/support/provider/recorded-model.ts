/** A scripted model that keeps what it was sent. */
import type { Model, ModelRequest } from '../../../src/core/definition/model.ts'
import { scriptedModel } from '../../../src/models/local/scripted-model.ts'

export interface RecordedModel extends Model {
  readonly requests: ModelRequest[]
}

export function recordedModel(id: string, script: Parameters<typeof scriptedModel>[1]): RecordedModel {
  const model = scriptedModel(id, script)
  const requests: ModelRequest[] = []
  return {
    id,
    requests,
    reply(request, call) {
      requests.push({ ...request, messages: [...request.messages] })
      return model.reply(request, call)
    },
  }
}
