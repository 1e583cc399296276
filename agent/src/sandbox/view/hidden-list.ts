import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { AgentLog } from '../../host/agent-log.ts'
import { writeDurably } from '../../host/durable-file.ts'
import { systemErrorCode } from '../../host/errors.ts'
import { quotePath, ViewRefusal } from './view-refusal.ts'

const savedSchema = z.array(
  z.object({
    object: z.string(),
    /** The path at which it was hidden, and its directory by `identityOf`. */
    path: z.string(),
    directory: z.string(),
    /** Workspaces of the sandboxes that hid it. */
    workspaces: z.array(z.string()),
    /** Whether the directory counts for nothing, because only its name hides the object. */
    stays: z.boolean(),
  }),
)
type Saved = z.output<typeof savedSchema>[number]

export interface HiddenObject extends Saved {
  /** Sandboxes that run and hide it. */
  readonly owners: Set<object>
}

/** The list of hidden objects, which is kept on disk for the next start of the agent. */
export class HiddenList {
  readonly #file: string
  readonly #log: Pick<AgentLog, 'warn'>
  #objects: Map<string, HiddenObject> | null = null
  #isChanged = false
  #writing: Promise<void> | null = null

  constructor(file: string, log: Pick<AgentLog, 'warn'>) {
    this.#file = file
    this.#log = log
  }

  /** The objects by their identity. Throws `ViewRefusal` for a file that cannot be read. */
  all(): Map<string, HiddenObject> {
    this.#objects ??= new Map(
      readSaved(this.#file).map((each) => [each.object, { ...each, owners: new Set() }]),
    )
    return this.#objects
  }

  /** Writes the list. A failure is logged, and `saveAgain` tries once more. */
  save(): void {
    this.#isChanged = true
    this.#writing ??= this.#write().finally(() => (this.#writing = null))
  }

  /** A disk that was full may have room now. */
  saveAgain(): void {
    if (this.#isChanged) this.save()
  }

  /** Resolves when the list is on disk, or could not be written. */
  async saved(): Promise<void> {
    await this.#writing
  }

  async #write(): Promise<void> {
    while (this.#isChanged) {
      this.#isChanged = false
      const saved = savedSchema.parse([...this.all().values()])
      try {
        await writeDurably(this.#file, JSON.stringify(saved))
      } catch (err) {
        this.#isChanged = true
        this.#log.warn({ err }, 'the list of hidden files cannot be written')
        return
      }
    }
  }
}

/** Throws `ViewRefusal` for a file that cannot be read: what it names must not be shown. */
function readSaved(file: string): readonly Saved[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return []
    throw new ViewRefusal(`the list of hidden files ${quotePath(file)} cannot be read`, error)
  }
  try {
    return savedSchema.parse(JSON.parse(text))
  } catch (error) {
    throw new ViewRefusal(
      `the list of hidden files ${quotePath(file)} is damaged; remove it, and look for files ` +
        'that a command moved to where no rule denies them',
      error,
    )
  }
}
