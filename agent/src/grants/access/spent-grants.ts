import { readPrivateFile } from '@palisade/client'
import { parseInstant } from '@palisade/policy-core'
import { parseJson, type AccessGrant } from '@palisade/protocol'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { instantMs } from '../../policy/state/instant.ts'
import { writeDurably } from '../../host/durable-file.ts'

/** Two, because a lost or damaged file must not make a spent grant good again. */
const COPIES = ['spent.json', 'spent.previous.json'] as const
const MAX_BYTES = 256 * 1024
/** More than a user gets in years; the grants that end first make room. */
const MAX_SPENT = 1_000

const fileSchema = z.strictObject({
  spent: z.array(z.strictObject({ id: z.string(), expires_ms: instantMs })),
  /** Grants for one use that began up to this time are spent; in milliseconds since 1970. */
  passed_ms: instantMs,
})
type Spent = z.infer<typeof fileSchema>

/** The grants for one use that this machine has used. */
export interface SpentGrants {
  /** Reads both copies. If only damaged ones are left, every grant that has begun is spent. */
  restore(): Promise<void>
  /** The ids of the spent ones among the grants: the same set until another is spent. */
  among(grants: readonly AccessGrant[]): ReadonlySet<string>
  /**
   * Resolves to true once the use is durable, for the first caller only. Rejects with the system's
   * error; the grant counts as spent then too.
   */
  spend(grant: AccessGrant): Promise<boolean>
}

export function createSpentGrants(deps: {
  readonly directory: string
  /** The trusted time, in milliseconds since 1970. */
  readonly now: () => number
}): SpentGrants {
  const files = COPIES.map((name) => join(deps.directory, name))
  let spent = new Map<string, number>()
  let passedMs = 0
  /** The answer to the last question; null once another grant is spent. */
  let among: { grants: readonly AccessGrant[]; ids: ReadonlySet<string> } | null = null
  let writing: Promise<void> = Promise.resolve()

  const isSpent = ({ id, once, not_before }: AccessGrant): boolean =>
    once === true && (spent.has(id) || (parseInstant(not_before) ?? 0) <= passedMs)

  const write = async (): Promise<void> => {
    const content: Spent = {
      spent: [...spent].map(([id, expires_ms]) => ({ id, expires_ms })),
      passed_ms: passedMs,
    }
    await mkdir(deps.directory, { recursive: true, mode: 0o700 })
    for (const file of files) await writeDurably(file, JSON.stringify(content))
  }

  /** One write after the other, so that the later one has both uses. */
  const keep = (): Promise<void> => {
    writing = writing.catch(() => {}).then(write)
    return writing
  }

  return {
    async restore() {
      const copies = await Promise.all(files.map(readCopy))
      const good = copies.filter((copy) => typeof copy !== 'string')
      const isLost = good.length === 0 && copies.includes('damaged')
      passedMs = Math.max(isLost ? deps.now() : 0, ...good.map((copy) => copy.passed_ms))
      for (const copy of good)
        for (const { id, expires_ms } of copy.spent) spent.set(id, expires_ms)
      among = null
      // A full disk must not keep the agent from its start.
      if (isLost) await keep().catch(() => {})
    },

    among(grants) {
      if (among?.grants !== grants)
        among = { grants, ids: new Set(grants.filter(isSpent).map(({ id }) => id)) }
      return among.ids
    },

    async spend(grant) {
      if (isSpent(grant)) return false
      spent.set(grant.id, parseInstant(grant.expires_at) ?? Number.MAX_SAFE_INTEGER)
      spent = withoutOldest(spent)
      among = null
      await keep()
      return true
    },
  }
}

async function readCopy(file: string): Promise<Spent | 'absent' | 'damaged'> {
  const kept = await readPrivateFile(file, MAX_BYTES)
  if (!kept.ok) return kept.code === 'ENOENT' ? 'absent' : 'damaged'
  const json = parseJson(kept.text)
  return (json.ok ? fileSchema.safeParse(json.value).data : undefined) ?? 'damaged'
}

function withoutOldest(spent: Map<string, number>): Map<string, number> {
  if (spent.size <= MAX_SPENT) return spent
  return new Map([...spent].toSorted(([, a], [, b]) => b - a).slice(0, MAX_SPENT))
}
