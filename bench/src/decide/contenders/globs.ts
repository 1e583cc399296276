import { Minimatch } from 'minimatch'
import picomatch from 'picomatch'
import { scan, type Peer, type Tester } from './contender.ts'
import { hostGlob } from './pattern-text.ts'

const NO_RANGES = { addresses: 'globs have no address ranges' } as const
const OPTIONS = { dot: true } as const

/** Scans one compiled glob per resource. Hosts use `/` in place of `.`. */
export const picomatchScan: Peer = {
  name: 'picomatch',
  cannot: NO_RANGES,
  maxSize: 10_000,
  create: (domain, resources) =>
    domain === 'hosts'
      ? scan(resources, (pattern) => picomatchTester(hostGlob(pattern)), slashed)
      : scan(resources, picomatchTester, same),
}

/**
 * As `picomatchScan`, with minimatch. `/a/**` becomes `{/a,/a/**}`, because it does not match `/a`
 * itself.
 */
export const minimatchScan: Peer = {
  name: 'minimatch',
  cannot: NO_RANGES,
  maxSize: 10_000,
  create: (domain, resources) =>
    domain === 'hosts'
      ? scan(resources, (pattern) => minimatchTester(hostGlob(pattern)), slashed)
      : scan(resources, (pattern) => minimatchTester(withItself(pattern)), same),
}

function picomatchTester(glob: string): Tester<string> {
  const matches = picomatch(glob, OPTIONS)
  return (key) => matches(key)
}

function minimatchTester(glob: string): Tester<string> {
  const compiled = new Minimatch(glob, OPTIONS)
  return (key) => compiled.match(key)
}

function withItself(pattern: string): string {
  return pattern.endsWith('/**') ? `{${pattern.slice(0, -3)},${pattern}}` : pattern
}

function slashed(text: string): string {
  return text.replaceAll('.', '/')
}

function same(text: string): string {
  return text
}
