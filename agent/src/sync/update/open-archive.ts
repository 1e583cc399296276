import { MAX_BUNDLE_BYTES, type Enrolment } from '@palisade/protocol'
import { fault, type Fault } from '../fault.ts'
import { ASSIGNMENT_PATH, MAX_ASSIGNMENT, viewPath } from './find-view.ts'
import { readAssignment } from '../trust/assignment.ts'
import { unpackBundle } from './unpack-bundle.ts'
import type { Fetched, FetchFile } from '../transport/view-client.ts'

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
 * Reads the chunks of a bundle as if it were a server: what is asked for is found by its name or is absent, and
 * is no longer than asked for. Whose it is, is looked at only to say so in plain words; nothing is
 * verified here, and nothing counts before it has been, in the way of everything that is fetched.
 */
export async function openArchive(
  body: readonly Uint8Array[],
  enrolment: Pick<Enrolment, 'org' | 'device_id'>,
  { what, orElse }: ArchiveOptions = BUNDLE_FILE,
): Promise<Archive | Fault> {
  const length = body.reduce((sum, chunk) => sum + chunk.byteLength, 0)
  if (length > MAX_BUNDLE_BYTES)
    return fault('too_large', `the ${what} is larger than ${MAX_BUNDLE_BYTES} bytes`)
  const bundle = await unpackBundle(body, what)
  if (bundle.kind === 'fault') return bundle
  const { assignment, files } = bundle
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
      const content = files.get(name)
      if (content !== undefined) return answer(content, `\`${name}\``, maxBytes)
      // Roots are asked for until there is none.
      if (name.endsWith('.root.json')) return { kind: 'absent' }
      return orElse === null
        ? fault('truncated', `the ${what} lacks \`${name}\``)
        : orElse(wanted, signal)
    },
  }
}
