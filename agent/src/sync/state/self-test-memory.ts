import { readPrivateFile } from '@palisade/client'
import { join } from 'node:path'
import { writeDurably } from '../../host/durable-file.ts'
import type { VerifiedView } from '../trust/verify-view.ts'
import { sha256 } from '../trust/signed-metadata.ts'

const FILE = 'self-test'
const MAX_BYTES = 1024

type Listing = Pick<VerifiedView, 'documents'>

/**
 * Remembers across restarts which self-tests this evaluator has passed, so that a start can skip
 * them. An agent of another version runs them again before it enforces a cached bundle.
 */
export interface SelfTestMemory {
  isKnown(view: Listing): Promise<boolean>
  /** After a failed write the next start runs the tests again. Never rejects. */
  remember(view: Listing): Promise<void>
  /** Never rejects. */
  forget(): Promise<void>
}

export function createSelfTestMemory(deps: {
  /** The directory of the state. */
  readonly directory: string
  /** Version of the agent, and so of its evaluator. */
  readonly version: string
  /** The home directory that `~` stands for; without it some vectors are skipped. */
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
      // An earlier write has already reported the full disk.
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
