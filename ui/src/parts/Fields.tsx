/** Form fields that several pages use. */

interface WholeProps {
  label: string;
  /** Null if the field is empty. */
  value: number | null;
  least: number;
  most?: number;
  onChange: (value: number | null) => void;
  about?: string;
}

/** An optional number. */
export function NumberField({ label, value, least, most = 2_147_483_647, onChange, about }: WholeProps) {
  return (
    <label className="field">
      {label}
      <input type="number" min={least} max={most} step="any" value={value ?? ""} placeholder="No limit" onChange={(event) => onChange(event.target.value === "" ? null : Number(event.target.value))} />
      {about && <small>{about}</small>}
    </label>
  );
}
