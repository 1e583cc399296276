import { readPrivateFile } from '@palisade/client'
import { join } from 'node:path'
import { writeDurably } from './durable-file.ts'
import type { VerifiedView } from '../trust/verify-view.ts'
import { sha256 } from '../trust/signed-metadata.ts'

const FILE = 'self-test'
const MAX_BYTES = 1024

type Listing = Pick<VerifiedView, 'documents'>

/**
 * Which self-tests this evaluator has held to, across restarts. A start does without them then: for
 * 100 policies they are a sixth of it, cold as everything is. An agent of another version asks
 * again, before what another one has kept is in force.
 */
export interface SelfTestMemory {
  isKnown(view: Listing): Promise<boolean>
  /** What cannot be written now is asked again at the next start. Never rejects. */
  remember(view: Listing): Promise<void>
  /** Likewise. */
  forget(): Promise<void>
}

export function createSelfTestMemory(deps: {
  /** That of the state. */
  readonly directory: string
  /** Of the agent, and so of its evaluator. */
  readonly version: string
  /** What `~` stands for: without it some vectors are left out. */
  readonly home: string | null
}): SelfTestMemory {
  const { version, home } = deps
  const file = join(deps.directory, FILE)
  let remembered: string | null = null

  const keyOf = ({ documents }: Listing): string =>
    sha256(JSON.stringify([version, home, ...documents.map((document) => document.sha256)]))

  async function write(key: string): Promise<void> {
    if (key === remembered) return
    try {
      await writeDurably(file, key)
      remembered = key
    } catch {
      // A full disk has been told of by what is written before.
    }
  }

  return {
    async isKnown(view) {
      const found = await readPrivateFile(file, MAX_BYTES)
      return found.ok && found.text === keyOf(view)
    },
    remember: (view) => write(keyOf(view)),
    forget: () => write(''),
  }
}
