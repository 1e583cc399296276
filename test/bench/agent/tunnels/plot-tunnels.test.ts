import { describe, expect, it } from 'vitest'
import { plotTunnels } from '../../../../bench/src/agent/tunnels/plot-tunnels.ts'
import { rangeOf } from '../../../../bench/src/measure/range.ts'

const proxy = (name: string, cpuUs: number) => ({
  name,
  new_cpu_us: rangeOf([cpuUs]),
  new_per_s: rangeOf([1]),
  kept_cpu_us: rangeOf([cpuUs / 10]),
  kept_per_s: rangeOf([1]),
  bulk_mib_per_s: rangeOf([500]),
})

const RUN = {
  mode: 'full',
  started_at: '2026-01-02T03:04:05.000Z',
  machine: { node: '24.0.0', v8: '13', processor: 'A & B', processors: 2, load: 0 },
}

describe('plotTunnels', () => {
  it('draws a bar for each proxy and figure, in proportion', () => {
    const svg = plotTunnels({ proxies: [proxy('palisade', 200), proxy('a <b>', 400)] }, RUN)
    const widths = [...svg.matchAll(/<rect class="bar[^>]* width="([\d.]+)"/g)].map(([, width]) =>
      Number(width),
    )
    expect(widths).toHaveLength(6)
    expect(widths[0]).toBe((widths[1] ?? 0) / 2)
    expect(widths[4]).toBe(widths[5])
  })

  it('escapes names', () => {
    const svg = plotTunnels({ proxies: [proxy('a <b>', 400)] }, RUN)
    expect(svg).toContain('a &lt;b&gt;')
    expect(svg).toContain('A &amp; B')
  })
})
