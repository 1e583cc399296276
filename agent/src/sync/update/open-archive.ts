import {
  MAX_BUNDLE_BYTES,
  type Enrolment,
  BUNDLE_FILE_NAME,
  BUNDLE_FORMAT,
} from '@palisade/protocol'
import { fault, type Fault } from '../fault.ts'
import { viewPath } from './view-files.ts'
import { readAssignment } from '../trust/assignment.ts'
import type { Fetched, FetchFile } from '../transport/fetch-file.ts'
import { createJsonReader, JsonDamage, type JsonReader } from './json-reader.ts'
import { MAX_DOCUMENT_BYTES } from '../trust/verify-view.ts'

const MAX_ASSIGNMENT = 4 * 1024
/** Room for three hundred policies and thousands of roots. */
const MAX_FILES = 4_096
/** In UTF-16 code units; the longest name of a file has 151. */
const MAX_NAME = 256

export interface Archive {
  readonly kind: 'archive'
  /** The view that `assignment` names, unverified. */
  readonly view: string
  readonly assignment: string
  /** Fetches files of that view. */
  readonly fetchFile: FetchFile
}

export interface ArchiveOptions {
  /** The name of the archive in messages. */
  readonly what: 'bundle file' | 'update'
  /** Source of files that the archive lacks; null without another source. */
  readonly orElse: FetchFile | null
}

const BUNDLE_FILE: ArchiveOptions = { what: 'bundle file', orElse: null }

/**
 * Serves the files of a bundle like a server: a file is found by its name or absent, and no longer
 * than requested. The addressee is checked only for a plain message. Verification follows later, as
 * for every fetched file.
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
  if (claimed === null) return fault('malformed', `the assignment in the ${what} is invalid`)
  if (claimed.org !== enrolment.org)
    return fault('wrong_organization', `the ${what} is for another organization`)
  if (claimed.device_id !== enrolment.device_id)
    return fault('wrong_device', `the ${what} is for another device`)
  const prefix = `${viewPath(enrolment.org, claimed.view)}/`
  const answer = (content: string, name: string, maxBytes: number): Fetched => {
    const bytes = Buffer.from(content)
    if (bytes.byteLength === 0) return fault('empty', `${name} in the ${what} is empty`)
    if (bytes.byteLength > maxBytes)
      return fault('too_large', `${name} in the ${what} is larger than ${maxBytes} bytes`)
    return { kind: 'body', body: bytes, etag: null }
  }
  return {
    kind: 'archive',
    view: claimed.view,
    assignment,
    async fetchFile(file, signal) {
      const { path, maxBytes } = file
      if (signal.aborted) return fault('stopping', 'the agent is stopping')
      if (!path.startsWith(prefix)) return { kind: 'absent' }
      const name = path.slice(prefix.length)
      const content = files.get(name)
      if (content !== undefined) return answer(content, `\`${name}\``, maxBytes)
      // Roots are requested until one is absent.
      if (name.endsWith('.root.json')) return { kind: 'absent' }
      return orElse === null
        ? fault('truncated', `the ${what} lacks \`${name}\``)
        : orElse(file, signal)
    },
  }
}

export interface UnpackedBundle {
  readonly kind: 'bundle'
  readonly assignment: string
  /** Texts by path below the view. */
  readonly files: ReadonlyMap<string, string>
}

/** Carries a refusal out of the nested readers. */
class Refused extends Error {
  readonly code: Fault['code']

  constructor(code: Fault['code'], reason: string) {
    super(reason)
    this.code = code
  }
}

/**
 * Reads the consecutive chunks of a bundle, in the form of `bundleSchema`. A general JSON parser
 * would hold the agent's only thread for seconds, so this one reads only the two levels of a bundle
 * and pauses between pieces. It reports the first fault in the text.
 */
export async function unpackBundle(
  chunks: readonly Uint8Array[],
  what: string,
): Promise<UnpackedBundle | Fault> {
  try {
    const json = createJsonReader(chunks)
    const bundle = await readBundle(json)
    await json.end()
    return bundle
  } catch (error) {
    if (error instanceof JsonDamage)
      return fault('malformed', `the ${what} is damaged: ${error.message}`)
    if (error instanceof Refused)
      return fault(error.code, `this agent cannot read the ${what}: ${error.message}`)
    throw error
  }
}

async function readBundle(json: JsonReader): Promise<UnpackedBundle> {
  const texts = new Map<string, string>()
  const files = new Map<string, string>()
  await readObject(json, {
    checkName(name) {
      if (name !== 'format' && name !== 'assignment' && name !== 'files')
        throw new Refused('malformed', 'it has an unknown member')
      refuseTwice(texts, name)
    },
    async readValue(name) {
      texts.set(name, name === 'files' ? '' : await readText(json, name, MAX_ASSIGNMENT))
      if (name === 'files') await readFiles(json, files)
    },
  })
  if (texts.get('format') !== BUNDLE_FORMAT)
    throw new Refused('malformed', `\`format\` is not \`${BUNDLE_FORMAT}\``)
  const assignment = texts.get('assignment')
  if (assignment === undefined || !texts.has('files'))
    throw new Refused('malformed', '`assignment` or `files` is missing')
  return { kind: 'bundle', assignment, files }
}

async function readFiles(json: JsonReader, files: Map<string, string>): Promise<void> {
  await readObject(json, {
    checkName(name) {
      if (!BUNDLE_FILE_NAME.test(name))
        throw new Refused('malformed', 'a name in `files` is not a path of a view')
      refuseTwice(files, name)
      if (files.size === MAX_FILES)
        throw new Refused('malformed', `it holds more than ${MAX_FILES} files`)
    },
    async readValue(name) {
      files.set(name, await readText(json, name, MAX_DOCUMENT_BYTES))
    },
  })
}

interface Members {
  /** Throws for a name whose value must not be read. The empty name stands for one too long. */
  checkName(name: string): void
  readValue(name: string): Promise<void>
}

async function readObject(json: JsonReader, { checkName, readValue }: Members): Promise<void> {
  await json.expect('{')
  if (await json.skip('}')) return
  do {
    const name = (await json.string(MAX_NAME)) ?? ''
    checkName(name)
    await json.expect(':')
    await readValue(name)
  } while (await json.skip(','))
  await json.expect('}')
}

function refuseTwice(found: ReadonlyMap<string, string>, name: string): void {
  if (found.has(name)) throw new JsonDamage(`member \`${name}\` stands twice`)
}

/** A text with more code units than the limit also has more bytes. */
async function readText(json: JsonReader, name: string, maxBytes: number): Promise<string> {
  const text = await json.string(maxBytes)
  if (text === null) throw new Refused('too_large', `\`${name}\` is larger than ${maxBytes} bytes`)
  return text
}
