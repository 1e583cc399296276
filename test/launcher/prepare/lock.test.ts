import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lockHolder, tryLock, withLock } from '../../../packages/launcher/prepare/lock.mjs'
import { removeDirectory } from '../../remove-directory.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'palisade-lock-'))
  file = join(folder, 'deep', 'a.lock')
})
afterEach(() => {
  removeDirectory(folder)
})

it('is held by one at a time and names its holder', () => {
  const first = tryLock(file)
  const second = tryLock(file)

  expect(first.ok).toBe(true)
  expect(second).toEqual({ ok: false, pid: process.pid })
  expect(lockHolder(file)).toBe(process.pid)
})

it('is free after its release, and leaves no file behind', () => {
  const first = tryLock(file)
  if (first.ok) first.release()

  expect(lockHolder(file)).toBeNull()
  expect(readdirSync(join(folder, 'deep'))).toEqual([])
})

it.each(['2147483646 gone\n', '', 'nonsense', '-1 x', '0 x'])('is taken over from %j', (text) => {
  const first = tryLock(file)
  if (first.ok) first.release()
  writeFileSync(file, text)

  expect(tryLock(file).ok).toBe(true)
  expect(readdirSync(join(folder, 'deep'))).toEqual(['a.lock'])
})

it('does not release a lock that another process has taken since', () => {
  const first = tryLock(file)
  writeFileSync(file, `${process.ppid} other\n`)
  if (first.ok) first.release()

  expect(lockHolder(file)).toBe(process.ppid)
})

it('runs waiting work one after another, also after a failure', async () => {
  const order: string[] = []
  const work = (name: string) => async () => {
    order.push(`${name} in`)
    await new Promise((resolve) => setTimeout(resolve, 20))
    order.push(`${name} out`)
    if (name === 'a') throw new Error('a failed')
  }

  const results = await Promise.allSettled([
    withLock(file, work('a'), { pollMs: 2 }),
    withLock(file, work('b'), { pollMs: 2 }),
  ])

  expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled'])
  expect(order).toEqual(['a in', 'a out', 'b in', 'b out'])
})

it('names the holder and the file after the timeout', async () => {
  tryLock(file)

  const waiting = withLock(file, async () => {}, { timeoutMs: 10, pollMs: 2 })

  await expect(waiting).rejects.toThrow(`process ${process.pid} still holds \`${file}\``)
})
