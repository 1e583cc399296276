import { BUNDLE_FILE_NAME, BUNDLE_FORMAT } from '@palisade/protocol'
import { fault, type Fault } from '../fault.ts'
import { MAX_ASSIGNMENT } from './find-view.ts'
import { createJsonReader, JsonDamage, type JsonReader } from './json-reader.ts'
import { MAX_DOCUMENT_BYTES } from '../state/state-store.ts'

/** Three hundred policies and thousands of roots fit. */
const MAX_FILES = 4_096
/** In UTF-16 code units; the longest name of a file has 151. */
const MAX_NAME = 256

export interface UnpackedBundle {
  readonly kind: 'bundle'
  readonly assignment: string
  /** By their paths below the view. */
  readonly files: ReadonlyMap<string, string>
}

/** Carries a refusal out of the members that are read. */
class Refused extends Error {
  readonly code: Fault['code']

  constructor(code: Fault['code'], reason: string) {
    super(reason)
    this.code = code
  }
}

/**
 * Reads the consecutive chunks of a bundle, as `bundleSchema` describes it. A parser of all JSON
 * would hold the agent's only thread for seconds, so this one reads the two levels that a bundle
 * has, and pauses between pieces. The first fault in the text is the one that is named.
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
  /** Throws for a name behind which nothing is read. The empty name stands for one too long. */
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

/** A text of more code units than the limit has more bytes, too. */
async function readText(json: JsonReader, name: string, maxBytes: number): Promise<string> {
  const text = await json.string(maxBytes)
  if (text === null) throw new Refused('too_large', `\`${name}\` is larger than ${maxBytes} bytes`)
  return text
}
