import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../temporary-directory.ts'

const LOWER_PRIORITY = pathToFileURL(
  join(import.meta.dirname, '../../../server/src/platform/lower-priority.ts'),
)

/** The priorities of a thread that begins at `from`, and then lowers its priority by `niceness`. */
async function prioritiesOf(from: number, niceness: number): Promise<unknown> {
  const file = join(temporaryDirectory(), 'worker.mjs')
  writeFileSync(
    file,
    `import { getPriority, setPriority } from 'node:os'
    import { parentPort } from 'node:worker_threads'
    import { lowerPriority } from ${JSON.stringify(LOWER_PRIORITY.href)}
    setPriority(${from})
    lowerPriority(${niceness})
    parentPort.postMessage(getPriority())`,
  )
  const [priority] = (await once(new Worker(pathToFileURL(file)), 'message')) as unknown[]
  return priority
}

describe.skipIf(process.platform !== 'linux')('the priority of a thread', () => {
  it('is lower than that of a server that is nice itself', async () => {
    const own = getPriority()

    expect(await prioritiesOf(10, 5)).toBe(15)
    expect(await prioritiesOf(17, 5)).toBe(19)
    expect(getPriority()).toBe(own)
  })
})
