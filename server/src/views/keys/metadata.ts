import { MetaFile, type Metadata } from '@tufjs/models'
import { hash } from 'node:crypto'

/** Version of The Update Framework's specification that is followed. */
export const SPEC_VERSION = '1.0.31'

/** The bytes that are served. */
export function formatMetadata(metadata: Pick<Metadata<never>, 'toJSON'>): Buffer {
  return Buffer.from(JSON.stringify(metadata.toJSON()))
}

/** RFC 3339 UTC in whole seconds, the only form of a time that the specification knows. */
export function formatTufTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}

/**
 * The entry for this file in another one: version, length and hash, so that neither can be
 * exchanged.
 */
export function describeFile(version: number, body: Uint8Array): MetaFile {
  return new MetaFile({ version, length: body.byteLength, hashes: { sha256: sha256(body) } })
}

/** Lower-case hexadecimal; of a text, of its bytes in UTF-8. */
export function sha256(content: string | Uint8Array): string {
  return hash('sha256', content)
}
