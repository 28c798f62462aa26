import { Page } from "../parts/Page";

export default () => <Page title="Keys" />;
