import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitLines } from '../../packages/client/src/split-lines.ts'

async function split(chunks: readonly string[], maxBytes: number): Promise<(string | null)[]> {
  async function* source(): AsyncGenerator<Buffer> {
    for (const chunk of chunks) yield Buffer.from(chunk)
  }
  const lines: (string | null)[] = []
  for await (const part of splitLines(source(), maxBytes))
    lines.push(...part.map((line) => line?.toString() ?? null))
  return lines
}

describe('splitLines', () => {
  it('adds no line after a final line feed, and keeps blank lines', async () => {
    expect(await split(['a\n\nb\n'], 10)).toEqual(['a', '', 'b'])
    expect(await split(['a\nb'], 10)).toEqual(['a', 'b'])
    expect(await split(['\n'], 10)).toEqual([''])
    expect(await split([''], 10)).toEqual([])
  })

  it('yields null for a line that is one byte too long, and continues after it', async () => {
    expect(await split(['123\n1234\n', '12', '34\n123\n12345'], 3)).toEqual([
      '123',
      null,
      null,
      '123',
      null,
    ])
  })

  it('yields lines that do not depend on where chunks end', async () => {
    const anyText = fc.array(
      fc.string({ unit: fc.constantFrom('a', 'é', '\r', ' '), maxLength: 12 }),
    )
    const anyCuts = fc.array(fc.nat({ max: 40 }), { maxLength: 8 })
    const law = fc.asyncProperty(
      anyText,
      anyCuts,
      fc.integer({ min: 1, max: 12 }),
      async (lines, cuts, maxBytes) => {
        const text = lines.map((line) => `${line}\n`).join('')
        const points = [...new Set([0, ...cuts.filter((cut) => cut < text.length), text.length])]
        points.sort((a, b) => a - b)
        const chunks = points.slice(1).map((end, index) => text.slice(points[index], end))

        expect(await split(chunks, maxBytes)).toEqual(
          lines.map((line) => (Buffer.byteLength(line) <= maxBytes ? line : null)),
        )
      },
    )
    await fc.assert(law, { numRuns: 300 })
  })
})
