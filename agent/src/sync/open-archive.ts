import { decodeUtf8 } from '@palisade/client'
import { bundleSchema, MAX_BUNDLE_BYTES, parseJson, type Enrolment } from '@palisade/protocol'
import { fault, type Fault } from './fault.ts'
import { ASSIGNMENT_PATH, viewPath } from './find-view.ts'
import { readAssignment } from './judge-view.ts'
import type { Fetched, FetchFile } from './view-client.ts'

/**
 * Reads a bundle file as if it were a server: what is asked for is found by its name or is absent, and
 * is no longer than asked for. Whose it is, is looked at only to say so in plain words; nothing is
 * verified here, and nothing counts before it has been, in the way of everything that is fetched.
 */
export function openArchive(
  body: Uint8Array,
  enrolment: Pick<Enrolment, 'org' | 'device_id'>,
): { readonly kind: 'archive'; readonly fetchFile: FetchFile } | Fault {
  if (body.byteLength > MAX_BUNDLE_BYTES)
    return fault('too_large', `the bundle file is larger than ${MAX_BUNDLE_BYTES} bytes`)
  const text = decodeUtf8(body)
  if (text === null) return fault('malformed', 'the bundle file is not UTF-8 text')
  const json = parseJson(text)
  if (!json.ok) return fault('malformed', `the bundle file is damaged: ${json.problem.message}`)
  const parsed = bundleSchema.safeParse(json.value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const where = issue?.path.join('.') || 'the whole of it'
    return fault('malformed', `the bundle file is none that this agent reads, at ${where}`)
  }
  const { assignment, files } = parsed.data
  const claimed = readAssignment(assignment)
  if (claimed === null) return fault('malformed', 'the bundle file assigns no proper view')
  if (claimed.org !== enrolment.org)
    return fault('wrong_organization', 'the bundle file is for another organization')
  if (claimed.device_id !== enrolment.device_id)
    return fault('wrong_device', 'the bundle file is for another device')
  const place = `${viewPath(enrolment.org, claimed.view)}/`
  return {
    kind: 'archive',
    async fetchFile({ path, maxBytes }, signal) {
      if (signal.aborted) return fault('stopping', 'the agent is stopping')
      if (path === ASSIGNMENT_PATH) return answer(assignment, 'the assignment', maxBytes)
      if (!path.startsWith(place)) return { kind: 'absent' }
      const name = path.slice(place.length)
      if (Object.hasOwn(files, name)) return answer(files[name] ?? '', `\`${name}\``, maxBytes)
      // Roots are asked for until there is none.
      if (name.endsWith('.root.json')) return { kind: 'absent' }
      return fault('truncated', `the bundle file lacks \`${name}\``)
    },
  }
}

function answer(text: string, what: string, maxBytes: number): Fetched {
  const body = Buffer.from(text)
  if (body.byteLength === 0) return fault('empty', `${what} in the bundle file is empty`)
  if (body.byteLength > maxBytes)
    return fault('too_large', `${what} in the bundle file is larger than ${maxBytes} bytes`)
  return { kind: 'body', body, etag: null }
}
