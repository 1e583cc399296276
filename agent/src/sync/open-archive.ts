import { decodeUtf8 } from '@palisade/client'
import {
  bundleSchema,
  createJsonCounter,
  MAX_BUNDLE_BYTES,
  parseJson,
  type Enrolment,
} from '@palisade/protocol'
import { setImmediate as pause } from 'node:timers/promises'
import { fault, type Fault } from './fault.ts'
import { ASSIGNMENT_PATH, MAX_ASSIGNMENT, viewPath } from './find-view.ts'
import { readAssignment } from './assignment.ts'
import type { Fetched, FetchFile } from './view-client.ts'

/**
 * Three hundred policies, a few files and thousands of roots. A schema looks at every member before it refuses the first:
 * 8 MiB of small ones held an agent for 25 seconds and took 2.3 GiB, and nobody needs a key to send them.
 */
const MAX_VALUES = 4_096
/** Between two of them decisions have their turn. */
const SLICE_BYTES = 128 * 1024

export interface Archive {
  readonly kind: 'archive'
  readonly fetchFile: FetchFile
}

export interface ArchiveOptions {
  /** What it is called in messages. */
  readonly what: 'bundle file' | 'update'
  /** Where to look for what it does not hold; null for nowhere. */
  readonly orElse: FetchFile | null
}

const BUNDLE_FILE: ArchiveOptions = { what: 'bundle file', orElse: null }

/**
 * Reads a bundle as if it were a server: what is asked for is found by its name or is absent, and
 * is no longer than asked for. Whose it is, is looked at only to say so in plain words; nothing is
 * verified here, and nothing counts before it has been, in the way of everything that is fetched.
 */
export async function openArchive(
  body: Uint8Array,
  enrolment: Pick<Enrolment, 'org' | 'device_id'>,
  { what, orElse }: ArchiveOptions = BUNDLE_FILE,
): Promise<Archive | Fault> {
  const excess = await findExcess(body, what)
  if (excess !== null) return excess
  const text = decodeUtf8(body)
  if (text === null) return fault('malformed', `the ${what} is not UTF-8 text`)
  const json = parseJson(text)
  if (!json.ok) return fault('malformed', `the ${what} is damaged: ${json.problem.message}`)
  const parsed = bundleSchema.safeParse(json.value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const where = issue?.path.join('.') || 'the whole of it'
    return fault('malformed', `the ${what} is none that this agent reads, at ${where}`)
  }
  const { assignment, files } = parsed.data
  if (Buffer.byteLength(assignment) > MAX_ASSIGNMENT)
    return fault(
      'too_large',
      `the assignment in the ${what} is larger than ${MAX_ASSIGNMENT} bytes`,
    )
  const claimed = readAssignment(assignment)
  if (claimed === null) return fault('malformed', `the ${what} assigns no proper view`)
  if (claimed.org !== enrolment.org)
    return fault('wrong_organization', `the ${what} is for another organization`)
  if (claimed.device_id !== enrolment.device_id)
    return fault('wrong_device', `the ${what} is for another device`)
  const place = `${viewPath(enrolment.org, claimed.view)}/`
  const answer = (content: string, name: string, maxBytes: number): Fetched => {
    const bytes = Buffer.from(content)
    if (bytes.byteLength === 0) return fault('empty', `${name} in the ${what} is empty`)
    if (bytes.byteLength > maxBytes)
      return fault('too_large', `${name} in the ${what} is larger than ${maxBytes} bytes`)
    return { kind: 'body', body: bytes, etag: null }
  }
  return {
    kind: 'archive',
    async fetchFile(wanted, signal) {
      const { path, maxBytes } = wanted
      if (signal.aborted) return fault('stopping', 'the agent is stopping')
      if (path === ASSIGNMENT_PATH) return answer(assignment, 'the assignment', maxBytes)
      if (!path.startsWith(place)) return { kind: 'absent' }
      const name = path.slice(place.length)
      if (Object.hasOwn(files, name)) return answer(files[name] ?? '', `\`${name}\``, maxBytes)
      // Roots are asked for until there is none.
      if (name.endsWith('.root.json')) return { kind: 'absent' }
      return orElse === null
        ? fault('truncated', `the ${what} lacks \`${name}\``)
        : orElse(wanted, signal)
    },
  }
}

async function findExcess(body: Uint8Array, what: ArchiveOptions['what']): Promise<Fault | null> {
  if (body.byteLength > MAX_BUNDLE_BYTES)
    return fault('too_large', `the ${what} is larger than ${MAX_BUNDLE_BYTES} bytes`)
  const counter = createJsonCounter()
  let values = 0
  for (let start = 0; start < body.byteLength; start += SLICE_BYTES) {
    if (start > 0) await pause()
    values = counter.add(body.subarray(start, start + SLICE_BYTES))
    // Within the text it may be one too many.
    if (values > MAX_VALUES + 1) break
  }
  return values > MAX_VALUES
    ? fault('malformed', `the ${what} holds more than ${MAX_VALUES} values`)
    : null
}
