import {
  decodePart,
  encodePart,
  type SuggestWorkerMessage,
  type SuggestWorkerReply,
  type SuggestWorkerParts,
} from './suggest-worker-messages.ts'
import type { RecordedRequest, SuggestOrganization } from './suggest-input.ts'
import { suggest } from './suggest.ts'

/** Returns the worker's message handler, which collects the parts and answers after the last. */
export function createSuggestHandler(
  reply: (message: SuggestWorkerReply) => void,
): (message: SuggestWorkerMessage) => void {
  const requests: RecordedRequest[] = []
  const policies: SuggestOrganization['policies'][number][] = []
  let people: SuggestWorkerParts['people'] = { teams: [], members: [] }

  return ({ part, json }) => {
    switch (part) {
      case 'requests':
        for (const each of decodePart(part, json)) requests.push(each)
        return
      case 'policies':
        policies.push(...decodePart(part, json))
        return
      case 'people':
        people = decodePart(part, json)
        return
      case 'rules': {
        const { rules, now } = decodePart(part, json)
        try {
          const answer = suggest(requests, { policies, ...people }, rules, now)
          reply({ ok: true, json: encodePart(answer) })
        } catch (error) {
          reply({ ok: false, message: String(error) })
        }
      }
    }
  }
}
