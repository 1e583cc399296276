import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startProcessOf } from '../../../server/src/work/start-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const SOURCES = new URL('../../../server/src/work/', import.meta.url)

/** A child that serves by this text; `port` is in scope. */
function child(text: string): URL {
  const file = join(temporaryDirectory(), 'child.mjs')
  writeFileSync(
    file,
    `import { readFileSync } from 'node:fs'
     import { serveProcess } from '${new URL('serve-process.ts', SOURCES).href}'
     serveProcess(1, (port) => { ${text} })`,
  )
  return pathToFileURL(file)
}

function start(text: string, options: Parameters<typeof startProcessOf>[1] = {}) {
  const worker = startProcessOf(child(text), options)
  onTestFinished(async () => void (await worker.terminate()))
  return worker
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe('a worker in a process of its own', () => {
  it('gets messages and answers them, maps and bytes as they are', async () => {
    const message = new Map([['a', new Uint8Array([1, 2])]])
    const worker = start(`port.on('message', (got) => port.postMessage([got]))`)

    worker.postMessage(message, [])

    expect(await once(worker as never, 'message')).toEqual([[message]])
  })

  it('is the first that Linux ends when memory is short', async () => {
    const worker = start(`port.postMessage(readFileSync('/proc/self/oom_score_adj', 'utf8'))`)

    expect(await once(worker as never, 'message')).toEqual(['1000\n'])
  })

  it('tells that its memory is used up, by its own bound or by the system', async () => {
    const errors = []
    for (const text of [
      'const all = []; for (;;) all.push(new Array(1e5).fill({}))',
      `process.kill(process.pid, 'SIGKILL')`,
    ]) {
      const worker = start(text, { resourceLimits: { maxOldGenerationSizeMb: 32 } })
      errors.push(await new Promise((resolve) => worker.once('error', resolve)))
    }

    expect(errors).toMatchObject([
      { code: 'ERR_WORKER_OUT_OF_MEMORY' },
      { code: 'ERR_WORKER_OUT_OF_MEMORY' },
    ])
  })

  it('tells another signal apart', async () => {
    const worker = start(`process.kill(process.pid, 'SIGTERM')`)

    const error = await new Promise((resolve) => worker.once('error', resolve))

    expect(error).toMatchObject({ message: 'ended by SIGTERM' })
    expect(error).not.toHaveProperty('code')
  })

  it('ends without an error when it is terminated', async () => {
    const worker = start('port.postMessage(process.pid); for (;;);')
    const [pid] = (await once(worker as never, 'message')) as [number]
    const errors: unknown[] = []
    worker.on('error', (error) => errors.push(error))

    await worker.terminate()

    expect([isAlive(pid), errors]).toEqual([false, []])
  })

  it('ends with the process that started it', async () => {
    const folder = temporaryDirectory()
    const mark = join(folder, 'pid')
    const parent = join(folder, 'parent.mjs')
    const serving = child('setInterval(() => undefined, 1000); port.postMessage(process.pid)')
    writeFileSync(
      parent,
      `import { renameSync, writeFileSync } from 'node:fs'
       import { startProcessOf } from '${new URL('start-process.ts', SOURCES).href}'
       startProcessOf(new URL('${serving.href}'), {}).on('message', (pid) => {
         writeFileSync('${mark}.new', String(pid))
         renameSync('${mark}.new', '${mark}')
       })`,
    )
    const server = spawn(process.execPath, [parent], { stdio: 'ignore' })
    onTestFinished(() => void server.kill('SIGKILL'))
    await expect.poll(() => existsSync(mark), { timeout: 30_000 }).toBe(true)
    const pid = Number(readFileSync(mark, 'utf8'))
    expect(isAlive(pid)).toBe(true)

    server.kill('SIGKILL')

    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
  })
})
