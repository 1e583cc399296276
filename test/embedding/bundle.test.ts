import { describe, expect, it } from 'vitest'
import { bundle } from './bundle.ts'

/** Limit in bytes for the minified and gzipped code of a decision. */
const MAX_DECIDE_BYTES = 30_000

const PROGRAMS = {
  'compile and decide': `export { compilePolicy, decide } from '@palisade/policy-core'`,
  decide: `export { decide } from '@palisade/policy-core'`,
  'canonical host': `export { canonicalHost } from '@palisade/policy-core'`,
  everything: `export * from '@palisade/policy-core'`,
} as const

function sizeOf(name: keyof typeof PROGRAMS) {
  return bundle(PROGRAMS[name], 'module')
}

describe('the size of a bundle', () => {
  it.each(['compile and decide', 'decide'] as const)(
    'is under 30 kB, minified and gzipped: %s',
    async (name) => {
      const { gzippedBytes } = await sizeOf(name)

      expect(gzippedBytes).toBeLessThan(MAX_DECIDE_BYTES)
    },
  )

  it('does not include explanations for a program that only decides', async () => {
    const { modules } = await sizeOf('compile and decide')

    expect(modules).toContain('decision/decide.ts')
    expect(modules.filter((path) => /explain|near-miss|lint|compare/.test(path))).toEqual([])
  })

  it('does not include policies for a program that only uses canonicalHost', async () => {
    const { modules, gzippedBytes } = await sizeOf('canonical host')
    const everything = await sizeOf('everything')

    expect(modules).toContain('host/canonical.ts')
    expect(modules.filter((path) => !/^(?:address|host)\//.test(path))).toEqual([])
    expect(gzippedBytes).toBeLessThan(everything.gzippedBytes / 4)
    expect(modules.length).toBeLessThan(everything.modules.length / 4)
  })
})

describe('a bundle', () => {
  it('has no imports', async () => {
    const { imports, code } = await bundle(PROGRAMS.everything, 'module')

    expect(imports).toEqual([])
    expect(code).not.toMatch(/\b(?:import|require)\s*[(.]/)
  })
})
