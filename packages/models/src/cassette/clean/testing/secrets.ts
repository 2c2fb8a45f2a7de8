/** One of each shape. Put together here, so that no scanner takes them for real ones. */
export const secrets: readonly string[] = [
  `sk-${'Ab3'.repeat(16)}`,
  `sk-proj-${'a_B-3'.repeat(12)}`,
  `sk-ant-api03-${'xY9-_z'.repeat(12)}`,
  'AKIAIOSFODNN7EXAMPLE',
  `ghp_${'aB3'.repeat(12)}`,
  `github_pat_${'aB3_'.repeat(12)}`,
  `glpat-${'aB3-'.repeat(6)}`,
  `xoxb-${'123456-'.repeat(4)}abc`,
  `AIza${'Sy_-5'.repeat(7)}`,
  `sk_live_${'aB3'.repeat(8)}`,
  `gsk_${'aB3'.repeat(16)}`,
  `hf_${'aBc'.repeat(11)}`,
  ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxIn0', 'dBjftJeZ4CVP-mB92K27'].join('.'),
  `-----BEGIN RSA PRIVATE KEY-----${'\\nMIIEow=='.repeat(3)}\\n-----END RSA PRIVATE KEY-----`,
]
